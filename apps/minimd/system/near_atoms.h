#pragma once

#include <cstdint>

namespace md {

/// Atoms in the order of bins: coordinates and indices of `index[k]`, k from `first` to before `last` for each row.
struct bin_rows {
  const double *x = nullptr, *y = nullptr, *z = nullptr;
  const std::int32_t* index = nullptr;
  std::int32_t first[32] = {}, last[32] = {};
  int num = 0;

  std::int32_t size() const {
    std::int32_t n = 0;
    for (int r = 0; r < num; ++r) n += last[r] - first[r];
    return n;
  }
};

/// Writes the indices of those closer than the square root of `square` to (x, y, z), in their order, and returns the
/// end. Up to 8 more numbers are overwritten. The same atoms whichever instructions the machine has.
using near_function = std::int32_t* (*)(const bin_rows& rows, double x, double y, double z, double square,
                                        std::int32_t* out);
near_function best_near_function();

namespace detail {
std::int32_t* near_baseline(const bin_rows& rows, double x, double y, double z, double square, std::int32_t* out);
std::int32_t* near_avx512(const bin_rows& rows, double x, double y, double z, double square, std::int32_t* out);
}  // namespace detail

}  // namespace md
