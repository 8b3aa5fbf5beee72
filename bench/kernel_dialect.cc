// Kernels of the dialect on one CPU thread against the same loops in plain C++: what the dialect costs there.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

#include "imbrex/device/kernel/kernel_dialect.h"
// After the dialect.
#include "kernel_dialect.hk"

IX_INLINE_KERNEL(axpy_inline, (int n, double f, IX_GLOBAL const double* x, IX_GLOBAL double* y),
                 if (i < n) y[i] += f * x[i]);
IX_INLINE_KERNEL_BELOW(axpy_inline_below, (int n, double f, IX_GLOBAL const double* x, IX_GLOBAL double* y), n,
                       y[i] += f * x[i]);

namespace {

std::vector<double> numbers(std::size_t n) {
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<double>(i * 37 % 101) * 0.01;
  return v;
}

/// One tile of c: the loops of `dgemm` by hand.
void plain_tile(int n, int tile_x, int tile_y, const double* a, const double* b, double* c) {
  alignas(64) double a_tile[TILE][TILE], b_tile[TILE][TILE], sum[TILE][TILE];
  for (int y = 0; y < TILE; ++y)
    for (int x = 0; x < TILE; ++x) sum[y][x] = 0;
  for (int t = 0; t < n / TILE; ++t) {
    for (int y = 0; y < TILE; ++y)
      for (int x = 0; x < TILE; ++x) {
        a_tile[y][x] = a[(tile_y * TILE + y) * n + t * TILE + x];
        b_tile[y][x] = b[(t * TILE + y) * n + tile_x * TILE + x];
      }
    for (int y = 0; y < TILE; ++y)
      for (int x = 0; x < TILE; ++x) {
        double s = sum[y][x];
        for (int k = 0; k < TILE; ++k) s += a_tile[y][k] * b_tile[k][x];
        sum[y][x] = s;
      }
  }
  for (int y = 0; y < TILE; ++y)
    for (int x = 0; x < TILE; ++x) c[(tile_y * TILE + y) * n + tile_x * TILE + x] = sum[y][x];
}

struct matrices {
  explicit matrices(int n) : a(numbers(static_cast<std::size_t>(n) * static_cast<std::size_t>(n))), b(a), c(a.size()) {}
  std::vector<double> a, b, c;
};

void count(benchmark::State& state, double flops_of_each) {
  state.counters["flops"] =
      benchmark::Counter(flops_of_each * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void dgemm_plain(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  matrices m(n);
  for (auto _ : state) {
    for (int y = 0; y < n / TILE; ++y)
      for (int x = 0; x < n / TILE; ++x) plain_tile(n, x, y, m.a.data(), m.b.data(), m.c.data());
    benchmark::ClobberMemory();
  }
  count(state, 2.0 * n * n * n);
}

void dgemm_dialect(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  matrices m(n);
  const double *a = m.a.data(), *b = m.b.data();
  double* c = m.c.data();
  void* arguments[] = {const_cast<int*>(&n), &a, &b, &c};
  const auto tiles = static_cast<unsigned>(n / TILE);
  const imbrex::launch_shape shape{.groups = {tiles, tiles}, .group = {TILE, TILE}};
  for (auto _ : state) {
    imbrex::run_on_cpu(dgemm, shape, arguments, 0, shape.num_groups());
    benchmark::ClobberMemory();
  }
  count(state, 2.0 * n * n * n);
}

void axpy_plain(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  matrices m(1);
  m.a = m.c = numbers(static_cast<std::size_t>(n));
  const double* x = m.a.data();
  double* y = m.c.data();
  for (auto _ : state) {
    for (int i = 0; i < n; ++i) y[i] += 1e-9 * x[i];
    benchmark::ClobberMemory();
  }
  count(state, 2.0 * n);
}

void axpy_dialect(benchmark::State& state, const imbrex::kernel_source& k) {
  const int n = static_cast<int>(state.range(0));
  const std::vector<double> from = numbers(static_cast<std::size_t>(n));
  std::vector<double> to = from;
  const double* x = from.data();
  double *y = to.data(), f = 1e-9;
  void* arguments[] = {const_cast<int*>(&n), &f, &x, &y};
  const auto shape = imbrex::launch_shape::over(from.size());
  for (auto _ : state) {
    imbrex::run_on_cpu(k, shape, arguments, 0, shape.num_groups());
    benchmark::ClobberMemory();
  }
  count(state, 2.0 * n);
}

BENCHMARK(dgemm_plain)->Arg(512)->Unit(benchmark::kMillisecond);
BENCHMARK(dgemm_dialect)->Arg(512)->Unit(benchmark::kMillisecond);
BENCHMARK(axpy_plain)->Arg(10'000);
BENCHMARK_CAPTURE(axpy_dialect, guarded, axpy)->Arg(10'000);
BENCHMARK_CAPTURE(axpy_dialect, below, axpy_below)->Arg(10'000);
BENCHMARK_CAPTURE(axpy_dialect, inline_guarded, axpy_inline)->Arg(10'000);
BENCHMARK_CAPTURE(axpy_dialect, inline_below, axpy_inline_below)->Arg(10'000);

}  // namespace

BENCHMARK_MAIN();
