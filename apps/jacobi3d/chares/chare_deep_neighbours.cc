#include <fmt/format.h>

#include "chares/chare_deep_neighbours.h"

namespace jacobi {

open_sides sides_of(const std::vector<deep_neighbour>& around) {
  open_sides open{};
  for (const deep_neighbour& n : around) {
    if (n.offset == std::array{-1, 0, 0}) open[static_cast<std::size_t>(face::xlo)] = true;
    if (n.offset == std::array{1, 0, 0}) open[static_cast<std::size_t>(face::xhi)] = true;
    if (n.offset == std::array{0, -1, 0}) open[static_cast<std::size_t>(face::ylo)] = true;
    if (n.offset == std::array{0, 1, 0}) open[static_cast<std::size_t>(face::yhi)] = true;
    if (n.offset == std::array{0, 0, -1}) open[static_cast<std::size_t>(face::zlo)] = true;
    if (n.offset == std::array{0, 0, 1}) open[static_cast<std::size_t>(face::zhi)] = true;
  }
  return open;
}

void check_steps_fit(const decomposition& blocks, const options& o) {
  if (o.steps == resident_steps) return;  // it exchanges after each
  const bool periodic = o.boundary.periodic;
  const extents least = blocks.cells(blocks.position(blocks.num_blocks() - 1)).size;  // none is smaller
  const auto check = [&](char axis, std::int64_t cells, int num) {
    if ((num > 1 || periodic) && cells < o.steps) {
      throw imbrex::usage_error(
          fmt::format("--steps {} needs blocks of as many cells, but with {} blocks in {} there are {}: use fewer "
                      "steps, or fewer chares",
                      o.steps, num, axis, cells));
    }
  };
  check('x', least.nx, blocks.cx());
  check('y', least.ny, blocks.cy());
  check('z', least.nz, blocks.cz());
}

}  // namespace jacobi
