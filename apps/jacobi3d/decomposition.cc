#include "decomposition.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "imbrex/base/error.h"

namespace jacobi {
namespace {

constexpr std::int64_t most_blocks = std::numeric_limits<std::int32_t>::max();

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d != n / d) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

/// Calls `visit(cx, cy, cz)` for every way to cut the grid into n blocks of at least one cell.
template <class Visit>
void for_each_cut(extents grid, std::int64_t n, Visit&& visit) {
  const std::vector<std::int64_t> all = divisors(n);
  for (std::int64_t cx : all) {
    if (cx > grid.nx) break;
    const std::int64_t plane = n / cx;
    for (std::int64_t cy : all) {
      if (cy > grid.ny) break;
      if (plane % cy == 0 && plane / cy <= grid.nz) visit(cx, cy, plane / cy);
    }
  }
}

std::int64_t surface(extents grid, std::int64_t cx, std::int64_t cy, std::int64_t cz, std::int64_t x_weight = 1) {
  return 2 * (x_weight * cx * grid.ny * grid.nz + cy * grid.nx * grid.nz + cz * grid.nx * grid.ny);
}

std::string text(extents grid) {
  return std::to_string(grid.nx) + " x " + std::to_string(grid.ny) + " x " + std::to_string(grid.nz);
}

/// Names the closest counts below and above n that can be cut. Precondition: 1 < n < grid.cells().
std::string nearest_counts(extents grid, std::int64_t n) {
  std::int64_t below = n - 1, above = n + 1;
  while (!decomposition::possible(grid, below)) --below;  // ends: 1 is always possible
  const std::int64_t most = std::min(grid.cells(), most_blocks);
  while (above <= most && !decomposition::possible(grid, above)) ++above;
  if (above > most) return std::to_string(below);
  return std::to_string(below) + " or " + std::to_string(above);
}

[[noreturn]] void refuse(extents grid, std::int64_t n) {
  const std::string count = std::to_string(n);
  if (n < 1) throw imbrex::usage_error("cannot cut the grid into " + count + " chares: use at least 1");
  if (n > most_blocks)
    throw imbrex::usage_error(count + " chares are too many: use at most " + std::to_string(most_blocks));
  if (n > grid.cells())
    throw imbrex::usage_error("cannot cut a grid of " + text(grid) + " cells into " + count +
                              " chares of at least one cell: use at most " + std::to_string(grid.cells()));
  throw imbrex::usage_error("cannot cut a grid of " + text(grid) + " cells into " + count +
                            " chares of at least one cell in every direction: use " + nearest_counts(grid, n));
}

/// Where part i of n cells in c parts starts.
std::int64_t start(std::int64_t i, std::int64_t c, std::int64_t n) { return i * (n / c) + std::min(i, n % c); }

}  // namespace

const char* name(face f) {
  static constexpr const char* names[] = {"xlo", "xhi", "ylo", "yhi", "zlo", "zhi"};
  return names[static_cast<int>(f)];
}

decomposition::decomposition(extents grid, int cx, int cy, int cz) : grid_(grid), cx_(cx), cy_(cy), cz_(cz) {
  if (cx < 1 || cy < 1 || cz < 1 || cx > grid.nx || cy > grid.ny || cz > grid.nz)
    throw imbrex::usage_error("cannot cut a grid of " + text(grid) + " cells into " + text({cx, cy, cz}) +
                              " blocks: use from 1 block to one block for each cell in every direction");
}

decomposition decomposition::of_least_surface(extents grid, std::int64_t num_blocks, std::int64_t x_weight) {
  using candidate = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::optional<candidate> best;  // surface, then the counts to prefer large, negated
  if (num_blocks >= 1 && num_blocks <= most_blocks) {
    for_each_cut(grid, num_blocks, [&](std::int64_t cx, std::int64_t cy, std::int64_t cz) {
      const candidate c{surface(grid, cx, cy, cz, x_weight), -cz, -cy, -cx};
      if (!best || c < *best) best = c;
    });
  }
  if (!best) refuse(grid, num_blocks);
  const auto& [unused, cz, cy, cx] = *best;
  return decomposition(grid, static_cast<int>(-cx), static_cast<int>(-cy), static_cast<int>(-cz));
}

bool decomposition::possible(extents grid, std::int64_t num_blocks) {
  if (num_blocks < 1 || num_blocks > std::min(grid.cells(), most_blocks)) return false;
  bool found = false;
  for_each_cut(grid, num_blocks, [&](std::int64_t, std::int64_t, std::int64_t) { found = true; });
  return found;
}

block_position decomposition::position(std::int64_t number) const {
  return {static_cast<int>(number % cx_), static_cast<int>(number / cx_ % cy_), static_cast<int>(number / cx_ / cy_)};
}

box decomposition::cells(block_position p) const {
  const std::int64_t x0 = start(p.x, cx_, grid_.nx), x1 = start(p.x + 1, cx_, grid_.nx);
  const std::int64_t y0 = start(p.y, cy_, grid_.ny), y1 = start(p.y + 1, cy_, grid_.ny);
  const std::int64_t z0 = start(p.z, cz_, grid_.nz), z1 = start(p.z + 1, cz_, grid_.nz);
  return {x0, y0, z0, {x1 - x0, y1 - y0, z1 - z0}};
}

std::optional<block_position> decomposition::neighbour(block_position p, face side, bool periodic) const {
  const int direction = static_cast<int>(side) / 2;
  const int step = static_cast<int>(side) % 2 == 0 ? -1 : 1;
  int* coordinate[] = {&p.x, &p.y, &p.z};
  const int count[] = {cx_, cy_, cz_};
  const int c = count[direction];
  const int moved = *coordinate[direction] + step;
  if (!periodic && (moved < 0 || moved >= c)) return std::nullopt;
  *coordinate[direction] = (moved + c) % c;
  return p;
}

std::int64_t decomposition::total_surface() const { return surface(grid_, cx_, cy_, cz_); }

}  // namespace jacobi
