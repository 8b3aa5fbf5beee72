#include "imbrex/hetero/submission/combining.h"

#include "imbrex/device/kernel/kernel_dialect.h"
#include "imbrex/hetero/submission/combine.hk"
#include "imbrex/hetero/submission/combine_double.hk"

namespace imbrex::detail {

namespace {
template <class T>
void combine_by(const kernel<void(int, int, T*, const T*)>& k, stream& s, element_operation op, T* into, const T* from,
                std::size_t n) {
  in_pieces(n, [&](std::size_t at, int some) {
    launch(s, k, launch_shape::over(static_cast<std::size_t>(some)), some, static_cast<int>(op), into + at, from + at);
  });
}
template <class T>
void fill_by(const kernel<void(int, T, T*)>& k, stream& s, T value, T* to, std::size_t n) {
  in_pieces(n, [&](std::size_t at, int some) {
    launch(s, k, launch_shape::over(static_cast<std::size_t>(some)), some, value, to + at);
  });
}
}  // namespace

void combine_on(stream& s, element_operation op, int* into, const int* from, std::size_t n) {
  combine_by(imbrex_combine_int, s, op, into, from, n);
}
void combine_on(stream& s, element_operation op, unsigned* into, const unsigned* from, std::size_t n) {
  combine_by(imbrex_combine_unsigned, s, op, into, from, n);
}
void combine_on(stream& s, element_operation op, long* into, const long* from, std::size_t n) {
  combine_by(imbrex_combine_long, s, op, into, from, n);
}
void combine_on(stream& s, element_operation op, unsigned long* into, const unsigned long* from, std::size_t n) {
  combine_by(imbrex_combine_unsigned_long, s, op, into, from, n);
}
void combine_on(stream& s, element_operation op, float* into, const float* from, std::size_t n) {
  combine_by(imbrex_combine_float, s, op, into, from, n);
}
void combine_on(stream& s, element_operation op, double* into, const double* from, std::size_t n) {
  combine_by(imbrex_combine_double, s, op, into, from, n);
}

void fill_on(stream& s, int value, int* to, std::size_t n) { fill_by(imbrex_fill_int, s, value, to, n); }
void fill_on(stream& s, unsigned value, unsigned* to, std::size_t n) { fill_by(imbrex_fill_unsigned, s, value, to, n); }
void fill_on(stream& s, long value, long* to, std::size_t n) { fill_by(imbrex_fill_long, s, value, to, n); }
void fill_on(stream& s, unsigned long value, unsigned long* to, std::size_t n) {
  fill_by(imbrex_fill_unsigned_long, s, value, to, n);
}
void fill_on(stream& s, float value, float* to, std::size_t n) { fill_by(imbrex_fill_float, s, value, to, n); }
void fill_on(stream& s, double value, double* to, std::size_t n) { fill_by(imbrex_fill_double, s, value, to, n); }

}  // namespace imbrex::detail
