// The vector operations of AVX2, as lennard_jones_lanes.inc.h and embedded_atom_lanes.inc.h want them.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "system/atoms.h"

#define MD_TARGET __attribute__((target("avx2")))
#define LANES_OPERATION MD_TARGET __attribute__((always_inline)) static inline

namespace md::detail {
namespace {

struct lanes {
  using vector = __m256d;
  using mask = __m256d;
  using integers = __m128i;
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
  LANES_OPERATION __m256d row(const double* all, std::int32_t j) { return _mm256_load_pd(all + std::ptrdiff_t{4} * j); }
  LANES_OPERATION void rows(const double* all, const std::int32_t* j, vector& p0, vector& p1, vector& p2, vector& p3) {
    const vector a = row(all, j[0]), b = row(all, j[1]), c = row(all, j[2]), d = row(all, j[3]);
    const vector even_ab = _mm256_unpacklo_pd(a, b), even_cd = _mm256_unpacklo_pd(c, d);
    const vector odd_ab = _mm256_unpackhi_pd(a, b), odd_cd = _mm256_unpackhi_pd(c, d);
    p0 = _mm256_permute2f128_pd(even_ab, even_cd, 0x20);
    p1 = _mm256_permute2f128_pd(odd_ab, odd_cd, 0x20);
    p2 = _mm256_permute2f128_pd(even_ab, even_cd, 0x31);
    p3 = _mm256_permute2f128_pd(odd_ab, odd_cd, 0x31);
  }
  LANES_OPERATION void gather(const vector4* x, const std::int32_t* j, vector& px, vector& py, vector& pz) {
    vector none;
    rows(&x->x, j, px, py, pz, none);
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
  LANES_OPERATION vector sqrt(vector a) { return _mm256_sqrt_pd(a); }
  LANES_OPERATION vector min(vector a, vector b) { return _mm256_min_pd(a, b); }
  LANES_OPERATION vector max(vector a, vector b) { return _mm256_max_pd(a, b); }
  LANES_OPERATION integers truncated(vector a) { return _mm256_cvttpd_epi32(a); }
  LANES_OPERATION vector real(integers a) { return _mm256_cvtepi32_pd(a); }
  LANES_OPERATION void store(std::int32_t* to, integers a) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), a); }
  LANES_OPERATION vector at(const double* all, const std::int32_t* j) {
    return _mm256_set_pd(all[j[3]], all[j[2]], all[j[1]], all[j[0]]);
  }
  LANES_OPERATION void store(double* to, vector a) { _mm256_storeu_pd(to, a); }
};

}  // namespace
}  // namespace md::detail
