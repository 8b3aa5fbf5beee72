// A = L L^T by tiles: one graph of tasks over all ranks. The same program runs in one process and in many.
#include <cblas.h>
#include <imbrex/imbrex.h>
#include <imbrex/task_graph.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ix = imbrex;
using tile = std::span<double>;  // b * b, columns one after the other
using const_tile = std::span<const double>;
extern "C" void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);

double element(int row, int column, int n) { return row == column ? n : 1.0 / (1 + std::abs(row - column)); }
void fill(tile a, int i, int j, int b, int n) {
  for (int k = 0; k < b * b; ++k) a[k] = element(i * b + k % b, j * b + k / b, n);
}
void potrf(tile a, int b) {
  int info = 0;
  dpotrf_("L", &b, a.data(), &b, &info);
  if (info != 0) throw std::runtime_error("the matrix is not positive definite");
}
void trsm(const_tile l, tile a, int b) {
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, b, b, 1, l.data(), b, a.data(), b);
}
void syrk(const_tile a, tile c, int b) {
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, b, b, -1, a.data(), b, 1, c.data(), b);
}
void gemm(const_tile a, const_tile at, tile c, int b) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, b, b, b, -1, a.data(), b, at.data(), b, 1, c.data(), b);
}

ix::task<double> factor(ix::task_graph& g, int nt, int b) {
  openblas_set_num_threads(1);
  ix::distributed<double, ix::index2d> a(g, {nt, nt}, b * b, ix::map::block_cyclic::over(g.num_ranks()));
  for (int i = 0; i < nt; ++i)
    for (int j = 0; j <= i; ++j) g.submit({.name = "fill"}, fill, write(a(i, j)), i, j, b, nt * b);
  for (int k = 0; k < nt; ++k) {
    g.submit({.name = "potrf", .priority = 3}, potrf, a(k, k), b);
    for (int i = k + 1; i < nt; ++i) g.submit({.name = "trsm", .priority = 2}, trsm, a(k, k), a(i, k), b);
    for (int i = k + 1; i < nt; ++i) {
      g.submit({.name = "syrk", .priority = i == k + 1}, syrk, a(i, k), a(i, i), b);
      for (int j = k + 1; j < i; ++j)
        g.submit({.name = "gemm", .priority = j == k + 1}, gemm, a(i, k), a(j, k), a(i, j), b);
    }
    co_await g.fewer_tasks_than(10'000);
  }
  const int n = nt * b;
  std::vector<double> l(g.rank() == 0 ? n * n : 0);  // to rank 0, which looks at A x and L (L^T x), x = (1, 1, ...)
  const auto collect = [to = l.data(), b, n](const_tile t, int i, int j) {
    for (int k = 0; k < b * b; ++k) to[(j * b + k / b) * n + i * b + k % b] = t[k];
  };
  for (int i = 0; i < nt; ++i)
    for (int j = 0; j <= i; ++j) g.submit({.name = "collect", .rank = 0}, collect, a(i, j), i, j);
  co_await g.done();
  if (g.rank() != 0) co_return 0;
  std::vector<double> x(n, 1);
  cblas_dtrmv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, l.data(), n, x.data(), 1);
  cblas_dtrmv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, l.data(), n, x.data(), 1);
  double worst = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) x[i] -= element(i, j, n);
    worst = std::max(worst, std::abs(x[i]) / n);
  }
  co_return worst;
}

ix::task<int> start(ix::runtime& rt) {
  const double error = co_await ix::run_graph<&factor>(rt, 8, 64);
  fmt::print("512 x 512 elements in tiles of 64 x 64: {}\n", error < 1e-12 ? "A = L L^T" : "wrong");
  co_return error < 1e-12 ? 0 : 1;
}
int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
