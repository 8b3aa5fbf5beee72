#include "kernels/kernel_variants.h"

#define JACOBI_TARGET
#define LANES_OPERATION __attribute__((always_inline)) static inline

#if defined(__SSE2__)

#include <emmintrin.h>

namespace jacobi::detail {
namespace {

/// Two lanes of SSE2, which every x86-64 machine has.
struct lanes {
  using vector = __m128d;
  using mask = __m128d;
  static constexpr int width = 2;
  LANES_OPERATION vector load(const double* p) { return _mm_load_pd(p); }
  LANES_OPERATION void store(double* p, vector v) { _mm_store_pd(p, v); }
  LANES_OPERATION void stream(double* p, vector v) { _mm_stream_pd(p, v); }
  LANES_OPERATION vector set1(double value) { return _mm_set1_pd(value); }
  LANES_OPERATION vector add(vector a, vector b) { return _mm_add_pd(a, b); }
  LANES_OPERATION vector mul(vector a, vector b) { return _mm_mul_pd(a, b); }
  LANES_OPERATION vector shift_up(vector before, vector v) { return _mm_shuffle_pd(before, v, 0b01); }
  LANES_OPERATION vector shift_down(vector v, vector after) { return _mm_shuffle_pd(v, after, 0b01); }
  LANES_OPERATION mask mask_at(std::int64_t lane) { return where(lane == 0, lane == 1); }
  LANES_OPERATION mask mask_below(std::int64_t lane) { return where(lane > 0, lane > 1); }
  LANES_OPERATION vector replace(vector v, mask m, vector w) {
    return _mm_or_pd(_mm_and_pd(m, w), _mm_andnot_pd(m, v));
  }
  LANES_OPERATION vector keep(vector v, mask m) { return _mm_and_pd(v, m); }
  LANES_OPERATION void fence() { _mm_sfence(); }

 private:
  LANES_OPERATION mask where(bool lane0, bool lane1) {
    return _mm_castsi128_pd(_mm_set_epi64x(lane1 ? -1 : 0, lane0 ? -1 : 0));
  }
};

}  // namespace
}  // namespace jacobi::detail

#else

namespace jacobi::detail {
namespace {

/// One lane of plain C++, for every other machine. It has no streaming stores.
struct lanes {
  using vector = double;
  using mask = bool;
  static constexpr int width = 1;
  LANES_OPERATION vector load(const double* p) { return *p; }
  LANES_OPERATION void store(double* p, vector v) { *p = v; }
  LANES_OPERATION void stream(double* p, vector v) { *p = v; }
  LANES_OPERATION vector set1(double value) { return value; }
  LANES_OPERATION vector add(vector a, vector b) { return a + b; }
  LANES_OPERATION vector mul(vector a, vector b) { return a * b; }
  LANES_OPERATION vector shift_up(vector before, vector) { return before; }
  LANES_OPERATION vector shift_down(vector, vector after) { return after; }
  LANES_OPERATION mask mask_at(std::int64_t lane) { return lane == 0; }
  LANES_OPERATION mask mask_below(std::int64_t lane) { return lane > 0; }
  LANES_OPERATION vector replace(vector v, mask m, vector w) { return m ? w : v; }
  LANES_OPERATION vector keep(vector v, mask m) { return m ? v : 0.0; }
  LANES_OPERATION void fence() {}
};

}  // namespace
}  // namespace jacobi::detail

#endif

#include "kernels/kernel_rows.inc.h"

jacobi::detail::variant_table jacobi::detail::baseline_variants() { return all_variants(); }
