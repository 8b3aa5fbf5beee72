#include "memory_check.h"

#include <fmt/format.h>

#include "field/block_field.h"
#include "imbrex/base/error.h"

namespace jacobi {
void check_memory(std::uint64_t needed, std::uint64_t available) {
  if (needed <= available) return;
  constexpr double mib = 1 << 20;
  throw imbrex::out_of_memory(fmt::format(
      "not enough memory on a node: the run needs {:.0f} MiB and {:.0f} MiB are available: use a smaller grid "
      "(-x -y -z), fewer chares, more nodes, or no --verify",
      static_cast<double>(needed) / mib, static_cast<double>(available) / mib));
}

std::uint64_t bytes_of_all_blocks(const decomposition& blocks) {
  // No block is larger than the first in any direction, and none is smaller by more than one cell.
  const extents largest = blocks.cells({0, 0, 0}).size;
  return static_cast<std::uint64_t>(blocks.num_blocks()) * block_field::bytes_needed(largest);
}

}  // namespace jacobi
