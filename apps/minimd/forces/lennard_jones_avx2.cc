#include "forces/lennard_jones.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define MD_TARGET __attribute__((target("avx2")))
#define LANES_OPERATION MD_TARGET __attribute__((always_inline)) static inline

namespace md::detail {
namespace {

struct lanes {
  using vector = __m256d;
  using mask = __m256d;
  static constexpr int width = 4;
  LANES_OPERATION vector set1(double a) { return _mm256_set1_pd(a); }
  LANES_OPERATION vector add(vector a, vector b) { return _mm256_add_pd(a, b); }
  LANES_OPERATION vector sub(vector a, vector b) { return _mm256_sub_pd(a, b); }
  LANES_OPERATION vector mul(vector a, vector b) { return _mm256_mul_pd(a, b); }
  LANES_OPERATION vector div(vector a, vector b) { return _mm256_div_pd(a, b); }
  LANES_OPERATION mask less(vector a, vector b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
  LANES_OPERATION vector keep(vector a, mask m) { return _mm256_and_pd(a, m); }
  LANES_OPERATION double sum(vector a) {
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  // Lane k holds atom j[k].
  LANES_OPERATION vector whole(const std::int32_t* j, std::int32_t num) {
    return _mm256_set_pd(j[3] < num ? 1.0 : 0.5, j[2] < num ? 1.0 : 0.5, j[1] < num ? 1.0 : 0.5,
                         j[0] < num ? 1.0 : 0.5);
  }
  LANES_OPERATION void gather(const vector4* x, const std::int32_t* j, vector& px, vector& py, vector& pz) {
    const vector a = _mm256_load_pd(&x[j[0]].x), b = _mm256_load_pd(&x[j[1]].x), c = _mm256_load_pd(&x[j[2]].x),
                 d = _mm256_load_pd(&x[j[3]].x);
    const vector xz_ab = _mm256_unpacklo_pd(a, b), xz_cd = _mm256_unpacklo_pd(c, d);
    px = _mm256_permute2f128_pd(xz_ab, xz_cd, 0x20);
    pz = _mm256_permute2f128_pd(xz_ab, xz_cd, 0x31);
    py = _mm256_permute2f128_pd(_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d), 0x20);
  }
  LANES_OPERATION void take_from(vector4* f, const std::int32_t* j, vector px, vector py, vector pz) {
    const vector zero = _mm256_setzero_pd();
    const vector xy_02 = _mm256_unpacklo_pd(px, py), xy_13 = _mm256_unpackhi_pd(px, py);
    const vector z_02 = _mm256_unpacklo_pd(pz, zero), z_13 = _mm256_unpackhi_pd(pz, zero);
    take(f + j[0], _mm256_permute2f128_pd(xy_02, z_02, 0x20));
    take(f + j[1], _mm256_permute2f128_pd(xy_13, z_13, 0x20));
    take(f + j[2], _mm256_permute2f128_pd(xy_02, z_02, 0x31));
    take(f + j[3], _mm256_permute2f128_pd(xy_13, z_13, 0x31));
  }
  LANES_OPERATION void take(vector4* f, vector v) { _mm256_store_pd(&f->x, _mm256_sub_pd(_mm256_load_pd(&f->x), v)); }
};

}  // namespace
}  // namespace md::detail

#include "forces/lennard_jones_lanes.inc.h"

namespace md::detail {
lennard_jones_variants lennard_jones_avx2() { return {&either<false>, &either<true>}; }
}  // namespace md::detail

#else

namespace md::detail {
lennard_jones_variants lennard_jones_avx2() { return lennard_jones_baseline(); }
}  // namespace md::detail

#endif
