// The same factorisation by OpenBLAS's own threads: `bench_cholesky_openblas --n=4096 --threads=2`.
#include "cholesky/tiles.h"

int main(int argc, char** argv) {
  cholesky::options o = cholesky::options_of(argc, argv);
  openblas_set_num_threads(o.threads);
  std::vector<double> a(static_cast<std::size_t>(o.n) * o.n), seconds;
  for (int repeat = 0; repeat <= o.repeats; ++repeat) {
    cholesky::fill(a.data(), 0, 0, o.n, o.n);
    const std::int64_t start = cholesky::now_ns();
    cholesky::potrf(a.data(), o.n);
    if (repeat > 0) seconds.push_back(1e-9 * static_cast<double>(cholesky::now_ns() - start));
  }
  const double error = cholesky::trace_error(cholesky::squares_below(a.data(), true, o.n), o.n);
  o.tile = 0;
  cholesky::report("OpenBLAS", o, seconds, error);
  return error < 1e-10 ? 0 : 1;
}
