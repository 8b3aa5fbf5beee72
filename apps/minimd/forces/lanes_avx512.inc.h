// The vector operations of AVX-512, as lennard_jones_lanes.inc.h and embedded_atom_lanes.inc.h want them.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "system/atoms.h"

#define MD_TARGET __attribute__((target("avx512f")))
#define LANES_OPERATION MD_TARGET __attribute__((always_inline)) static inline

namespace md::detail {
namespace {

struct lanes {
  using vector = __m512d;
  using mask = __mmask8;
  using integers = __m256i;
  static constexpr int width = 8;
  static constexpr mask all = 0xff;  // g++ 12 warns of its own header in the forms without a mask
  LANES_OPERATION vector set1(double a) { return _mm512_set1_pd(a); }
  LANES_OPERATION vector add(vector a, vector b) { return _mm512_add_pd(a, b); }
  LANES_OPERATION vector sub(vector a, vector b) { return _mm512_sub_pd(a, b); }
  LANES_OPERATION vector mul(vector a, vector b) { return _mm512_mul_pd(a, b); }
  LANES_OPERATION vector div(vector a, vector b) { return _mm512_div_pd(a, b); }
  LANES_OPERATION mask less(vector a, vector b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
  LANES_OPERATION vector keep(vector a, mask m) { return _mm512_maskz_mov_pd(m, a); }
  LANES_OPERATION __m256d upper(vector a) { return _mm512_maskz_extractf64x4_pd(all, a, 1); }
  LANES_OPERATION double sum(vector a) {
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(a), upper(a));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  // Lanes hold atoms j[0], j[1], j[2], j[3] and j[4], j[5], j[6], j[7], each four as AVX2 would.
  LANES_OPERATION vector whole(const std::int32_t* j, std::int32_t num) {
    mask m = 0;
    for (int k = 0; k < width; ++k) m = static_cast<mask>(m | ((j[k] < num ? 1 : 0) << k));
    return _mm512_mask_blend_pd(m, set1(0.5), set1(1.0));
  }
  LANES_OPERATION vector row(const double* from, std::int32_t a, std::int32_t b) {
    return _mm512_maskz_insertf64x4(all, _mm512_castpd256_pd512(_mm256_load_pd(from + std::ptrdiff_t{4} * a)),
                                    _mm256_load_pd(from + std::ptrdiff_t{4} * b), 1);
  }
  LANES_OPERATION void rows(const double* from, const std::int32_t* j, vector& p0, vector& p1, vector& p2, vector& p3) {
    const vector a = row(from, j[0], j[4]), b = row(from, j[1], j[5]), c = row(from, j[2], j[6]),
                 d = row(from, j[3], j[7]);
    const vector even_ab = _mm512_maskz_unpacklo_pd(all, a, b), even_cd = _mm512_maskz_unpacklo_pd(all, c, d);
    const vector odd_ab = _mm512_maskz_unpackhi_pd(all, a, b), odd_cd = _mm512_maskz_unpackhi_pd(all, c, d);
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13),
                  second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    p0 = _mm512_permutex2var_pd(even_ab, first, even_cd);
    p1 = _mm512_permutex2var_pd(odd_ab, first, odd_cd);
    p2 = _mm512_permutex2var_pd(even_ab, second, even_cd);
    p3 = _mm512_permutex2var_pd(odd_ab, second, odd_cd);
  }
  LANES_OPERATION void gather(const vector4* x, const std::int32_t* j, vector& px, vector& py, vector& pz) {
    vector none;
    rows(&x->x, j, px, py, pz, none);
  }
  LANES_OPERATION void take_from(vector4* f, const std::int32_t* j, vector px, vector py, vector pz) {
    take_four(f, j, _mm512_castpd512_pd256(px), _mm512_castpd512_pd256(py), _mm512_castpd512_pd256(pz));
    take_four(f, j + 4, upper(px), upper(py), upper(pz));
  }
  LANES_OPERATION void take_four(vector4* f, const std::int32_t* j, __m256d px, __m256d py, __m256d pz) {
    const __m256d zero = _mm256_setzero_pd();
    const __m256d xy_02 = _mm256_unpacklo_pd(px, py), xy_13 = _mm256_unpackhi_pd(px, py);
    const __m256d z_02 = _mm256_unpacklo_pd(pz, zero), z_13 = _mm256_unpackhi_pd(pz, zero);
    take(f + j[0], _mm256_permute2f128_pd(xy_02, z_02, 0x20));
    take(f + j[1], _mm256_permute2f128_pd(xy_13, z_13, 0x20));
    take(f + j[2], _mm256_permute2f128_pd(xy_02, z_02, 0x31));
    take(f + j[3], _mm256_permute2f128_pd(xy_13, z_13, 0x31));
  }
  LANES_OPERATION void take(vector4* f, __m256d v) { _mm256_store_pd(&f->x, _mm256_sub_pd(_mm256_load_pd(&f->x), v)); }
  LANES_OPERATION vector sqrt(vector a) { return _mm512_maskz_sqrt_pd(all, a); }
  LANES_OPERATION vector min(vector a, vector b) { return _mm512_maskz_min_pd(all, a, b); }
  LANES_OPERATION vector max(vector a, vector b) { return _mm512_maskz_max_pd(all, a, b); }
  LANES_OPERATION integers truncated(vector a) { return _mm512_maskz_cvttpd_epi32(all, a); }
  LANES_OPERATION vector real(integers a) { return _mm512_maskz_cvtepi32_pd(all, a); }
  LANES_OPERATION void store(std::int32_t* to, integers a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), a); }
  LANES_OPERATION vector at(const double* from, const std::int32_t* j) {
    return _mm512_setr_pd(from[j[0]], from[j[1]], from[j[2]], from[j[3]], from[j[4]], from[j[5]], from[j[6]],
                          from[j[7]]);
  }
  LANES_OPERATION void store(double* to, vector a) { _mm512_storeu_pd(to, a); }
};

}  // namespace
}  // namespace md::detail
