#pragma once

#include <bit>
#include <cstdint>

#include "decomposition.h"
#include "imbrex/base/hash.h"

namespace jacobi {

/// The share that one block adds to the field's hash: the sum over its cells, modulo 2^64, of `mix(bits(cell) XOR
/// mix(i))` with `i = (z*ny + y)*nx + x` the cell's number in the whole grid. The hash of the field is the sum of all
/// blocks' shares, in any order. `rows` are the block's rows, `pitch` doubles apart.
inline std::uint64_t hash_share(extents grid, const box& cells, const double* rows, std::int64_t pitch) {
  std::uint64_t sum = 0;
  for (std::int64_t z = 0; z < cells.size.nz; ++z) {
    for (std::int64_t y = 0; y < cells.size.ny; ++y) {
      const double* row = rows + (z * cells.size.ny + y) * pitch;
      const std::int64_t first = ((cells.z0 + z) * grid.ny + cells.y0 + y) * grid.nx + cells.x0;
      for (std::int64_t x = 0; x < cells.size.nx; ++x)
        sum += imbrex::mix(std::bit_cast<std::uint64_t>(row[x]) ^ imbrex::mix(static_cast<std::uint64_t>(first + x)));
    }
  }
  return sum;
}

}  // namespace jacobi
