#include "host_routines.h"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "imbrex/base/error.h"

extern "C" void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
extern "C" void dtrtri_(const char* uplo, const char* diag, const int* n, double* a, const int* lda, int* info);

namespace cholesky {

std::string host_library() { return openblas_get_config(); }
void host_library_single_threaded() { openblas_set_num_threads(1); }

void host_potrf(tile a, int b, tile, std::span<int>) {
  int info = 0;
  dpotrf_("L", &b, a.data(), &b, &info);
  if (info != 0) throw imbrex::error(fmt::format("the matrix is not positive definite: dpotrf gives {}", info));
}
void host_trsm(const_tile l, tile a, int b) {
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, b, b, 1, l.data(), b, a.data(), b);
}
void host_invert(const_tile l, const_tile, tile inverse, int b) {
  for (int c = 0; c < b; ++c) {
    const auto column = static_cast<std::ptrdiff_t>(c) * b;
    std::fill_n(inverse.begin() + column, c, 0.0);
    std::copy_n(l.begin() + column + c, b - c, inverse.begin() + column + c);
  }
  int info = 0;
  dtrtri_("L", "N", &b, inverse.data(), &b, &info);
  if (info != 0) throw imbrex::error(fmt::format("a diagonal tile cannot be inverted: dtrtri gives {}", info));
}
void host_solve(const_tile inverse, tile a, int b, tile) {
  cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, b, b, 1, inverse.data(), b, a.data(), b);
}
void host_syrk(const_tile a, tile c, int b) {
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, b, b, -1, a.data(), b, 1, c.data(), b);
}
void host_gemm(const_tile a, const_tile at, tile c, int b) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, b, b, b, -1, a.data(), b, at.data(), b, 1, c.data(), b);
}

namespace {

/// to += L x, or L^T x; of a diagonal tile the lower triangle counts.
void add_product(const_tile l, const double* x, tile to, int b, bool diagonal, CBLAS_TRANSPOSE transposed) {
  if (!diagonal) {
    cblas_dgemv(CblasColMajor, transposed, b, b, 1, l.data(), b, x, 1, 1, to.data(), 1);
    return;
  }
  std::vector<double> product(x, x + b);
  cblas_dtrmv(CblasColMajor, CblasLower, transposed, CblasNonUnit, b, l.data(), b, product.data(), 1);
  std::ranges::transform(product, to, to.begin(), std::plus<>());
}

}  // namespace

void times_transposed(const_tile l, tile y, int b, bool diagonal) {
  const std::vector<double> ones(static_cast<std::size_t>(b), 1.0);
  add_product(l, ones.data(), y, b, diagonal, CblasTrans);
}
void times(const_tile l, const_tile y, tile z, int b, bool diagonal) {
  add_product(l, y.data(), z, b, diagonal, CblasNoTrans);
}

}  // namespace cholesky
