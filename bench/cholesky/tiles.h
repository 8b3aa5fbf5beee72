#pragma once

#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <vector>

extern "C" void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);

/// The factorisation A = L L^T by tiles, which every program here computes with: the same matrix, the same BLAS with
/// one thread for a task, b * b elements of a tile, columns one after the other.
namespace cholesky {

inline double element(int row, int column, int n) { return row == column ? n : 1.0 / (1 + std::abs(row - column)); }

inline void fill(double* a, int i, int j, int b, int n) {
  for (int c = 0; c < b; ++c)
    for (int r = 0; r < b; ++r) a[c * b + r] = element(i * b + r, j * b + c, n);
}
inline void potrf(double* a, int b) {
  int info = 0;
  dpotrf_("L", &b, a, &b, &info);
  if (info != 0) throw std::runtime_error("the matrix is not positive definite");
}
inline void trsm(const double* l, double* a, int b) {
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, b, b, 1, l, b, a, b);
}
inline void syrk(const double* a, double* c, int b) {
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, b, b, -1, a, b, 1, c, b);
}
inline void gemm(const double* a, const double* at, double* c, int b) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, b, b, b, -1, a, b, at, b, 1, c, b);
}
// What all wait for is urgent, and so is the next column, which the next step begins with; the other updates go in the
// order of submission, which finds a panel's tiles in the caches. Finer priorities, by the distance to the end, cost
// imbrex and StarPU alike up to a third of their speed with small tiles.
constexpr int priority_of_potrf = 3, priority_of_trsm = 2;
constexpr int priority_of_update(int k, int j) { return j == k + 1 ? 1 : 0; }

/// Of the sum of the squares of all elements of L, which A's trace is: 0 for the factor.
inline double trace_error(double squares, int n) { return std::abs(squares / n / n - 1); }
inline double squares_below(const double* a, bool diagonal, int b) {
  double sum = 0;
  for (int c = 0; c < b; ++c)
    for (int r = diagonal ? c : 0; r < b; ++r) sum += a[c * b + r] * a[c * b + r];
  return sum;
}

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct options {
  int n = 4096, tile = 256, repeats = 5, threads = 2;
};
/// `--n=4096 --tile=256 --repeats=5 --threads=2`; the others are for somebody else.
inline options options_of(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto take = [&](std::string_view name, int& to) {
      if (word.starts_with(name)) to = std::atoi(argv[i] + name.size());
    };
    take("--n=", o.n);
    take("--tile=", o.tile);
    take("--repeats=", o.repeats);
    take("--threads=", o.threads);
  }
  if (o.tile < 1 || o.n < o.tile || o.n % o.tile != 0 || o.repeats < 1 || o.threads < 1) {
    std::fprintf(stderr, "n = %d has to be a multiple of tile = %d, and repeats and threads at least 1\n", o.n, o.tile);
    std::exit(2);
  }
  return o;
}

/// One line of JSON: the median time of a factorisation, and what is wrong with it.
inline void report(const char* by, const options& o, std::vector<double> seconds, double error) {
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  std::printf(
      "{\"by\": \"%s\", \"n\": %d, \"tile\": %d, \"seconds\": %.6f, \"least\": %.6f, \"gflops\": %.3f, "
      "\"error\": %.3g}\n",
      by, o.n, o.tile, median, seconds.front(), 1e-9 / 3 * o.n * o.n * o.n / median, error);
}

}  // namespace cholesky
