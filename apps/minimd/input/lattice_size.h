#pragma once

#include <array>
#include <cstdint>

namespace md {

/// Whether so many unit cells, each at least 1, hold few enough atoms (4 each, at most 2^60) to be counted.
inline bool countable(const std::array<std::int64_t, 3>& cells) {
  std::int64_t all = 0;
  return !__builtin_mul_overflow(cells[0], cells[1], &all) && !__builtin_mul_overflow(all, cells[2], &all) &&
         all <= std::int64_t{1} << 58;
}

}  // namespace md
