#include "factorisation.h"

#include <fmt/format.h>
#include <imbrex/clock.h>
#include <imbrex/task_graph.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "factor_result.h"
#include "gpu_routines.h"
#include "host_routines.h"
#include "support/output_place.h"

namespace cholesky {
namespace {

namespace ix = imbrex;
using tiles = ix::distributed<double, ix::index2d>;

/// What every rank has to know.
struct request {
  int n, tile, ahead, repeats;
  bool on_host, on_gpus, verify;

  int num_tiles() const { return n / tile; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & n & tile & ahead & repeats & on_host & on_gpus & verify;
  }
};

double element(int row, int column, int n) { return row == column ? n : 1.0 / (1 + std::abs(row - column)); }

void fill(tile a, int i, int j, int b, int n) {
  for (int k = 0; k < b * b; ++k) a[static_cast<std::size_t>(k)] = element(i * b + k % b, j * b + k / b, n);
}

void fill_unit(tile unit, int b) {
  std::ranges::fill(unit, 0.0);
  for (int k = 0; k < b; ++k)
    unit[static_cast<std::size_t>(k) * static_cast<std::size_t>(b) + static_cast<std::size_t>(k)] = 1;
}

/// The greatest relative error of rows i * b and those that follow.
void compare(const_tile z, std::span<double> worst, int i, int b, int n) {
  for (int r = 0; r < b; ++r) {
    double sum = 0;
    for (int c = 0; c < n; ++c) sum += element(i * b + r, c, n);
    worst[0] = std::max(worst[0], std::abs(z[static_cast<std::size_t>(r)] / sum - 1));
  }
}

/// Submits a step where it may run.
class steps {
 public:
  steps(ix::task_graph& g, const request& r)
      : g_(g),
        on_host_(r.on_host),
        on_gpus_(r.on_gpus),
        b_(r.tile),
        work_space_(r.on_gpus ? static_cast<std::size_t>(gpu_potrf_work_space(r.tile)) : 1) {}

  template <class A>
  void potrf(const A& a) {
    submit("potrf", 3, &host_potrf, &gpu_potrf, a, b_, ix::scratch<double>(work_space_), ix::scratch<int>(1));
  }
  template <class A>
  void trsm(const A& l, const A& a) {
    g_.submit({.name = ix::task_name::lasting("trsm"), .priority = 2}, &host_trsm, l, a, b_);
  }
  template <class A, class Unit>
  void invert(const A& l, const Unit& unit, const A& inverse) {
    submit("invert", 3, &host_invert, &gpu_invert, l, unit, write(inverse), b_);
  }
  template <class A>
  void solve(const A& inverse, const A& a) {
    const auto size = static_cast<std::size_t>(b_) * static_cast<std::size_t>(b_);
    submit("trsm", 2, &host_solve, &gpu_solve, inverse, a, b_, ix::scratch<double>(size));
  }
  template <class A>
  void syrk(const A& a, const A& c, bool urgent) {
    submit("syrk", urgent ? 1 : 0, &host_syrk, &gpu_syrk, a, c, b_);
  }
  template <class A>
  void gemm(const A& a, const A& at, const A& c, bool urgent) {
    submit("gemm", urgent ? 1 : 0, &host_gemm, &gpu_gemm, a, at, c, b_);
  }

 private:
  template <class Host, class Gpu, class... A>
  void submit(const char* name, int priority, Host on_host, Gpu on_gpu, const A&... arguments) {
    ix::graph_task_options o{.name = ix::task_name::lasting(name), .priority = priority};
    if (!on_gpus_) {
      g_.submit(o, on_host, arguments...);
      return;
    }
    if (!on_host_) o.on = ix::device_kind::cuda;
    g_.submit(o, ix::codelet{on_host, on_gpu, ix::device_kind::cuda}, arguments...);
  }

  ix::task_graph& g_;
  const bool on_host_, on_gpus_;
  const int b_;
  const std::size_t work_space_;
};

/// For GPUs: the unit matrix, and inverses of diagonal tiles, which lie where these do.
struct inverses {
  ix::distributed<double> unit;
  tiles of;

  inverses(ix::task_graph& g, const request& r)
      : unit(g, 1, size_of(r)), of(g, {r.num_tiles(), r.num_tiles()}, size_of(r), map_of(g)) {
    if (r.on_gpus) g.submit({.name = "unit"}, &fill_unit, write(unit(0)), r.tile);
  }
  static std::size_t size_of(const request& r) {
    return static_cast<std::size_t>(r.tile) * static_cast<std::size_t>(r.tile);
  }
  static ix::map::block_cyclic map_of(const ix::task_graph& g) { return ix::map::block_cyclic::over(g.num_ranks()); }
};

ix::task<> submit_factorisation(ix::task_graph& g, tiles& a, inverses& inverse, request r) {
  steps step(g, r);
  const int nt = r.num_tiles();
  for (int k = 0; k < nt; ++k) {
    step.potrf(a(k, k));
    if (r.on_gpus && k + 1 < nt) step.invert(a(k, k), inverse.unit(0), inverse.of(k, k));
    for (int i = k + 1; i < nt; ++i) {
      if (r.on_gpus) {
        step.solve(inverse.of(k, k), a(i, k));
      } else {
        step.trsm(a(k, k), a(i, k));
      }
    }
    for (int i = k + 1; i < nt; ++i) {
      step.syrk(a(i, k), a(i, i), i == k + 1);
      for (int j = k + 1; j < i; ++j) step.gemm(a(i, k), a(j, k), a(i, j), j == k + 1);  // the next column first
      co_await g.fewer_tasks_than(static_cast<std::uint64_t>(r.ahead));
    }
  }
}

/// L (L^T x) and A x, for x = (1, 1, ...): each rank adds up what its tiles give.
ix::task<double> error_of(ix::task_graph& g, tiles& a, request r) {
  const int nt = r.num_tiles(), b = r.tile;
  const auto size = static_cast<std::size_t>(b);
  ix::distributed<double> y(g, nt, size), z(g, nt, size), worst(g, 1, 1);
  for (int j = 0; j < nt; ++j) {
    for (int i = j; i < nt; ++i) {
      g.submit({.name = "L^T x"}, &times_transposed, a(i, j), reduce(y(j), ix::sum), b, i == j);
    }
  }
  for (int i = 0; i < nt; ++i) {
    for (int j = 0; j <= i; ++j) g.submit({.name = "L y"}, &times, a(i, j), y(j), reduce(z(i), ix::sum), b, i == j);
    g.submit({.name = "compare"}, &compare, z(i), reduce(worst(0), ix::max, 0.0), i, b, r.n);
  }
  const std::vector<double> greatest = co_await ix::values(g, worst(0));
  co_return greatest[0];
}

double seconds_since(ix::clock::time_point start) {
  return std::chrono::duration<double>(ix::clock::now() - start).count();
}

ix::task<result> factor(ix::task_graph& g, request r) {
  host_library_single_threaded();
  const int nt = r.num_tiles(), b = r.tile;
  tiles a(g, {nt, nt}, inverses::size_of(r), inverses::map_of(g));
  inverses inverse(g, r);
  result found;
  found.ranks = g.num_ranks();
  found.pes = ix::scheduler::current().num_pes() / g.num_ranks();
  for (int repeat = 0; repeat <= r.repeats; ++repeat) {
    for (int i = 0; i < nt; ++i) {
      for (int j = 0; j <= i; ++j) g.submit({.name = "fill"}, &fill, write(a(i, j)), i, j, b, r.n);
    }
    co_await ix::barrier(g);
    const auto start = ix::clock::now();
    auto all = submit_factorisation(g, a, inverse, r);
    co_await std::move(all);
    co_await ix::barrier(g);
    if (repeat > 0) found.seconds.push_back(seconds_since(start));
  }
  found.checked = r.verify;
  if (r.verify) {
    auto error = error_of(g, a, r);
    found.error = co_await std::move(error);
  }
  co_await g.done();
  if (r.on_gpus) give_up_gpu_libraries();
  co_return found;
}

void check_gpus(const options& o) {
  if (!o.on_gpus) return;
  const std::string missing = why_no_gpu_libraries();
  if (!missing.empty()) throw ix::not_built("--devices cuda: " + missing);
}

}  // namespace

ix::task<int> run_factorisation(ix::runtime& rt, const options* o) {
  check_gpus(*o);
  apps::check_output(o->report);
  const request r{o->n, o->tile, o->ahead, o->repeats, o->on_host, o->on_gpus, o->verify};
  const result found = co_await ix::run_graph<&factor>(rt, r);
  if (!o->quiet) fmt::print("{}", text(*o, found));
  apps::write_output(o->report, report_json(*o, found));
  co_return found.checked && !found.verified() ? 1 : 0;
}

}  // namespace cholesky
