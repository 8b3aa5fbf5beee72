#include "kernels/kernel_variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define JACOBI_TARGET __attribute__((target("avx512f")))
#define LANES_OPERATION JACOBI_TARGET __attribute__((always_inline)) static inline

namespace jacobi::detail {
namespace {

struct lanes {
  using vector = __m512d;
  using mask = __mmask8;
  static constexpr int width = 8;
  static constexpr mask every_lane = 0xff;  // g++ 12 warns of its own header in the form without a mask
  LANES_OPERATION vector load(const double* p) { return _mm512_load_pd(p); }
  LANES_OPERATION void store(double* p, vector v) { _mm512_store_pd(p, v); }
  LANES_OPERATION void stream(double* p, vector v) { _mm512_stream_pd(p, v); }
  LANES_OPERATION vector set1(double value) { return _mm512_set1_pd(value); }
  LANES_OPERATION vector add(vector a, vector b) { return _mm512_add_pd(a, b); }
  LANES_OPERATION vector mul(vector a, vector b) { return _mm512_mul_pd(a, b); }
  LANES_OPERATION vector shift_up(vector before, vector v) {
    return _mm512_castsi512_pd(
        _mm512_maskz_alignr_epi64(every_lane, _mm512_castpd_si512(v), _mm512_castpd_si512(before), 7));
  }
  LANES_OPERATION vector shift_down(vector v, vector after) {
    return _mm512_castsi512_pd(
        _mm512_maskz_alignr_epi64(every_lane, _mm512_castpd_si512(after), _mm512_castpd_si512(v), 1));
  }
  LANES_OPERATION mask mask_at(std::int64_t lane) { return static_cast<mask>(1u << lane); }
  LANES_OPERATION mask mask_below(std::int64_t lane) { return static_cast<mask>((1u << lane) - 1u); }
  LANES_OPERATION vector replace(vector v, mask m, vector w) { return _mm512_mask_mov_pd(v, m, w); }
  LANES_OPERATION vector keep(vector v, mask m) { return _mm512_maskz_mov_pd(m, v); }
  LANES_OPERATION void fence() { _mm_sfence(); }
};

}  // namespace
}  // namespace jacobi::detail

#include "kernels/kernel_rows.inc.h"

jacobi::detail::variant_table jacobi::detail::avx512_variants() { return all_variants(); }

#else

jacobi::detail::variant_table jacobi::detail::avx512_variants() { return {}; }

#endif
