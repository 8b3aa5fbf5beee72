#include "system/near_atoms.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "forces/lennard_jones.h"

namespace md {

near_function best_near_function() {
#if defined(__x86_64__)
  if (best_instruction_set() == instruction_set::avx512 && __builtin_cpu_supports("avx512vl") != 0)
    return &detail::near_avx512;
#endif
  return &detail::near_baseline;
}

namespace detail {

// Without a branch: which are near is anybody's guess.
std::int32_t* near_baseline(const bin_rows& rows, double x, double y, double z, double square, std::int32_t* out) {
  for (int r = 0; r < rows.num; ++r) {
    for (std::int32_t k = rows.first[r]; k < rows.last[r]; ++k) {
      const double dx = x - rows.x[k], dy = y - rows.y[k], dz = z - rows.z[k];
      *out = rows.index[k];
      out += dx * dx + dy * dy + dz * dz < square ? 1 : 0;
    }
  }
  return out;
}

#if defined(__x86_64__)

__attribute__((target("avx512f,avx512vl,popcnt"))) std::int32_t* near_avx512(const bin_rows& rows, double x, double y,
                                                                             double z, double square,
                                                                             std::int32_t* out) {
  constexpr __mmask8 all = 0xff;
  const __m512d px = _mm512_set1_pd(x), py = _mm512_set1_pd(y), pz = _mm512_set1_pd(z), limit = _mm512_set1_pd(square);
  for (int r = 0; r < rows.num; ++r) {
    for (std::int32_t k = rows.first[r]; k < rows.last[r]; k += 8) {
      const std::int32_t left = rows.last[r] - k;
      const __mmask8 here = left >= 8 ? all : static_cast<__mmask8>((1u << left) - 1);
      const __m512d dx = _mm512_sub_pd(px, _mm512_maskz_loadu_pd(here, rows.x + k));
      const __m512d dy = _mm512_sub_pd(py, _mm512_maskz_loadu_pd(here, rows.y + k));
      const __m512d dz = _mm512_sub_pd(pz, _mm512_maskz_loadu_pd(here, rows.z + k));
      const __m512d distance =
          _mm512_add_pd(_mm512_add_pd(_mm512_mul_pd(dx, dx), _mm512_mul_pd(dy, dy)), _mm512_mul_pd(dz, dz));
      const __mmask8 near = _mm512_mask_cmp_pd_mask(here, distance, limit, _CMP_LT_OQ);
      const __m256i index = _mm256_maskz_loadu_epi32(here, rows.index + k);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_maskz_compress_epi32(near, index));
      out += _mm_popcnt_u32(near);
    }
  }
  return out;
}

#else

std::int32_t* near_avx512(const bin_rows& rows, double x, double y, double z, double square, std::int32_t* out) {
  return near_baseline(rows, x, y, z, square, out);
}

#endif

}  // namespace detail
}  // namespace md
