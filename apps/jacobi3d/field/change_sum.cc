#include "field/change_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace jacobi {
namespace {

/// Eight doubles at a time; the compiler maps them to whatever the instruction set of the function has.
typedef double pack __attribute__((vector_size(64), may_alias));
constexpr std::int64_t width = 8;
constexpr std::int64_t chunk = 256;  // cells at a time; a power of two that divides into packs

/// More rounds would only serve cells 2^-138 below the largest in their chunk.
constexpr int most_rounds = 3;
constexpr int bits_per_round = 46;  // and 5 more for a lane's sum of a chunk: below the 53 of a double

#define JACOBI_INLINE __attribute__((always_inline)) inline

JACOBI_INLINE double largest_lane(const pack& values) {
  double most = 0;
  for (int lane = 0; lane < width; ++lane) most = std::max(most, values[lane]);
  return most;
}

/// Squares of the changes of a chunk. Returns the largest, infinity if one is not finite.
JACOBI_INLINE double square_changes(pack* squares, const pack* before, const pack* after, std::int64_t num_packs) {
  pack most = {}, zero = {};  // x * 0 is not a number exactly when x is not finite
  for (std::int64_t i = 0; i < num_packs; ++i) {
    const pack change = after[i] - before[i];
    squares[i] = change * change;
    most = most < squares[i] ? squares[i] : most;
    zero += squares[i] * 0.0;
  }
  double sum = 0;
  for (int lane = 0; lane < width; ++lane) sum += zero[lane];
  return sum == 0 ? largest_lane(most) : std::numeric_limits<double>::infinity();
}

/// Rounds all values to multiples of one power of two, adds those up, which needs no rounding, and leaves the exact
/// remainders. `most` is the largest magnitude; returns the largest of the remainders.
JACOBI_INLINE double add_leading_bits(apps::exact_sum& sum, pack* values, std::int64_t num_packs, double most) {
  const int exponent = std::ilogb(most) + 1;  // most < 2^exponent
  const int unit = std::max(exponent - bits_per_round, -1074);
  const double shift = std::ldexp(1.5, unit + 52);  // (x + shift) - shift is x rounded to a multiple of 2^unit
  pack totals = {}, rest = {};
  for (std::int64_t i = 0; i < num_packs; ++i) {
    const pack rounded = (values[i] + shift) - shift;
    totals += rounded;
    values[i] -= rounded;
    const pack magnitude = values[i] < 0 ? -values[i] : values[i];
    rest = rest < magnitude ? magnitude : rest;
  }
  for (int lane = 0; lane < width; ++lane) sum.add(totals[lane]);
  return largest_lane(rest);
}

JACOBI_INLINE void add_chunk(apps::exact_sum& sum, const pack* before, const pack* after, std::int64_t num_packs) {
  pack values[chunk / width];
  double most = square_changes(values, before, after, num_packs);
  for (int round = 0; round < most_rounds && most > 0 && most < 0x1p900; ++round)
    most = add_leading_bits(sum, values, num_packs, most);
  if (most == 0) return;
  for (std::int64_t i = 0; i < num_packs; ++i)
    for (int lane = 0; lane < width; ++lane)
      if (values[i][lane] != 0) sum.add(values[i][lane]);
}

/// The padding is 0 in both fields, so whole rows can be taken as one long row.
JACOBI_INLINE void add_rows(apps::exact_sum& sum, const double* before, const double* after, extents size,
                            std::int64_t pitch) {
  const std::int64_t count = size.ny * size.nz * pitch;
  for (std::int64_t start = 0; start < count; start += chunk)
    add_chunk(sum, reinterpret_cast<const pack*>(before + start), reinterpret_cast<const pack*>(after + start),
              std::min(chunk, count - start) / width);
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void add_rows_avx512(apps::exact_sum& sum, const double* before, const double* after,
                                                        extents size, std::int64_t pitch) {
  add_rows(sum, before, after, size, pitch);
}
#endif

}  // namespace

void add_squared_changes(apps::exact_sum& sum, const double* before, const double* after, extents size,
                         std::int64_t pitch) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return add_rows_avx512(sum, before, after, size, pitch);
#endif
  add_rows(sum, before, after, size, pitch);
}

}  // namespace jacobi
