#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace imbrex::detail {

/// Where a cell of a grid lies on a Hilbert curve through it: neighbours on the curve are neighbours in the grid. The
/// first `num_dimensions` of `x` count, each below 2^num_bits; num_dimensions * num_bits <= 64. By Gray codes, undone
/// digit by digit (Skilling 2004).
inline std::uint64_t hilbert_number(std::array<std::uint32_t, 3> x, std::size_t num_dimensions, unsigned num_bits) {
  if (num_dimensions == 1) return x[0];
  const std::uint32_t top = std::uint32_t{1} << (num_bits - 1);
  for (std::uint32_t q = top; q > 1; q >>= 1) {
    const std::uint32_t below = q - 1;
    for (std::size_t d = 0; d < num_dimensions; ++d) {
      // Turn round, or exchange with the first: both without a branch.
      const std::uint32_t is_set = (x[d] & q) != 0 ? ~std::uint32_t{0} : 0;
      const std::uint32_t exchange = (x[0] ^ x[d]) & below & ~is_set;
      x[0] ^= exchange | (below & is_set);
      x[d] ^= exchange;
    }
  }
  for (std::size_t d = 1; d < num_dimensions; ++d) x[d] ^= x[d - 1];
  std::uint32_t turn = 0;
  for (std::uint32_t q = top; q > 1; q >>= 1) {
    if ((x[num_dimensions - 1] & q) != 0) turn ^= q - 1;
  }
  std::uint64_t number = 0;
  for (unsigned bit = num_bits; bit-- > 0;) {
    for (std::size_t d = 0; d < num_dimensions; ++d) number = number << 1 | ((x[d] ^ turn) >> bit & 1);
  }
  return number;
}

}  // namespace imbrex::detail
