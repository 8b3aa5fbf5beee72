// Cholesky's factorisation as a graph of tasks: `bench_cholesky --n=4096 --tile=256 --imbrex-pes=2`, or on several
// ranks.
#include <imbrex/imbrex.h>
#include <imbrex/task_graph.h>

#include "cholesky/tiles.h"

namespace ix = imbrex;
using tiles = ix::distributed<double, ix::index2d>;

namespace {

struct request {
  int n, tile, repeats;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & n & tile & repeats;
  }
};

void submit_factorisation(ix::task_graph& g, tiles& a, int nt, int b) {
  for (int k = 0; k < nt; ++k) {
    g.submit({.name = "potrf", .priority = cholesky::priority_of_potrf}, &cholesky::potrf, a(k, k), b);
    for (int i = k + 1; i < nt; ++i) {
      g.submit({.name = "trsm", .priority = cholesky::priority_of_trsm}, &cholesky::trsm, a(k, k), a(i, k), b);
    }
    for (int i = k + 1; i < nt; ++i) {
      g.submit({.name = "syrk", .priority = cholesky::priority_of_update(k, i)}, &cholesky::syrk, a(i, k), a(i, i), b);
      for (int j = k + 1; j < i; ++j) {
        g.submit({.name = "gemm", .priority = cholesky::priority_of_update(k, j)}, &cholesky::gemm, a(i, k), a(j, k),
                 a(i, j), b);
      }
    }
  }
}

ix::task<std::vector<double>> factor(ix::task_graph& g, request what) {
  openblas_set_num_threads(1);
  const int b = what.tile, nt = what.n / b;
  tiles a(g, {nt, nt}, static_cast<std::size_t>(b) * b, ix::map::block_cyclic::over(g.num_ranks()));
  std::vector<double> result;
  for (int repeat = 0; repeat <= what.repeats; ++repeat) {  // the first for nothing
    for (int i = 0; i < nt; ++i) {
      for (int j = 0; j <= i; ++j) g.submit({.name = "fill"}, &cholesky::fill, write(a(i, j)), i, j, b, what.n);
    }
    co_await ix::barrier(g);
    const std::int64_t start = cholesky::now_ns();
    submit_factorisation(g, a, nt, b);
    const std::int64_t submitted = cholesky::now_ns();
    co_await ix::barrier(g);
    if (repeat > 0) result.push_back(1e-9 * static_cast<double>(cholesky::now_ns() - start));
    if (repeat == what.repeats && g.rank() == 0) {
      std::fprintf(stderr, "submitted in %.3f ms, %llu objects received\n",
                   1e-6 * static_cast<double>(submitted - start), static_cast<unsigned long long>(g.num_received()));
    }
  }
  ix::distributed<double> squares(g, 1, 1);
  g.submit({}, [](std::span<double> x) { x[0] = 0; }, write(squares(0)));
  const auto add = [](std::span<const double> t, std::span<double> to, bool diagonal, int size) {
    to[0] += cholesky::squares_below(t.data(), diagonal, size);
  };
  for (int i = 0; i < nt; ++i) {
    for (int j = 0; j <= i; ++j) g.submit({}, add, a(i, j), squares(0), i == j, b);
  }
  co_await g.done();
  if (g.rank() != 0) co_return result;
  const auto sum = squares.here(0);
  auto access = sum.host(ix::access_mode::read);
  const auto view = co_await access;
  result.push_back(cholesky::trace_error(view[0], what.n));
  co_return result;
}

ix::task<int> start(ix::runtime& rt, cholesky::options o) {
  auto result = co_await ix::run_graph<&factor>(rt, request{o.n, o.tile, o.repeats});
  const double error = result.back();
  result.pop_back();
  cholesky::report("imbrex", o, std::move(result), error);
  co_return error < 1e-10 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start, cholesky::options_of(argc, argv)); }
