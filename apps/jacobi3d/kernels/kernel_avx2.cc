#include "kernels/kernel_variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define JACOBI_TARGET __attribute__((target("avx2")))
#define LANES_OPERATION JACOBI_TARGET __attribute__((always_inline)) static inline

namespace jacobi::detail {
namespace {

struct lanes {
  using vector = __m256d;
  using mask = __m256d;
  static constexpr int width = 4;
  LANES_OPERATION vector load(const double* p) { return _mm256_load_pd(p); }
  LANES_OPERATION void store(double* p, vector v) { _mm256_store_pd(p, v); }
  LANES_OPERATION void stream(double* p, vector v) { _mm256_stream_pd(p, v); }
  LANES_OPERATION vector set1(double value) { return _mm256_set1_pd(value); }
  LANES_OPERATION vector add(vector a, vector b) { return _mm256_add_pd(a, b); }
  LANES_OPERATION vector mul(vector a, vector b) { return _mm256_mul_pd(a, b); }
  LANES_OPERATION vector shift_up(vector before, vector v) {
    return _mm256_shuffle_pd(_mm256_permute2f128_pd(before, v, 0x21), v, 0b0101);
  }
  LANES_OPERATION vector shift_down(vector v, vector after) {
    return _mm256_shuffle_pd(v, _mm256_permute2f128_pd(v, after, 0x21), 0b0101);
  }
  LANES_OPERATION mask mask_at(std::int64_t lane) {
    return where(_mm256_cmpeq_epi64(numbers(), _mm256_set1_epi64x(lane)));
  }
  LANES_OPERATION mask mask_below(std::int64_t lane) {
    return where(_mm256_cmpgt_epi64(_mm256_set1_epi64x(lane), numbers()));
  }
  LANES_OPERATION vector replace(vector v, mask m, vector w) { return _mm256_blendv_pd(v, w, m); }
  LANES_OPERATION vector keep(vector v, mask m) { return _mm256_and_pd(v, m); }
  LANES_OPERATION void fence() { _mm_sfence(); }

 private:
  LANES_OPERATION __m256i numbers() { return _mm256_set_epi64x(3, 2, 1, 0); }
  LANES_OPERATION mask where(__m256i m) { return _mm256_castsi256_pd(m); }
};

}  // namespace
}  // namespace jacobi::detail

#include "kernels/kernel_rows.inc.h"

jacobi::detail::variant_table jacobi::detail::avx2_variants() { return all_variants(); }

#else

jacobi::detail::variant_table jacobi::detail::avx2_variants() { return {}; }

#endif
