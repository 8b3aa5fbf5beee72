#include "product_graph.h"

#include <fmt/format.h>
#include <imbrex/clock.h>
#include <imbrex/task_graph.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "gpu_blas.h"
#include "host_blas.h"
#include "matrix.h"
#include "product_check.h"
#include "support/output_place.h"
#include "support/step_progress.h"
#include "tile_product.hk"
#include "tile_result.h"

namespace tiled_dgemm {
namespace {

namespace ix = imbrex;

/// What every rank has to know.
struct request {
  std::vector<int> sizes, tiles;
  int pes, ahead, repeats;
  bool library, on_host, resident, verify, shown;
  std::int8_t device;          ///< its kind; -1: none
  std::uint64_t device_bytes;  ///< that objects may take, on all devices of all ranks

  bool on_devices() const { return device >= 0; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & sizes & tiles & pes & ahead & repeats & library & on_host & resident & verify & shown & device & device_bytes;
  }
};

double seconds_since(ix::clock::time_point start) {
  return std::chrono::duration<double>(ix::clock::now() - start).count();
}

/// C = A B of one size in tiles of one size.
class product {
 public:
  product(ix::task_graph& g, const request& r, int n, int tile)
      : g_(g),
        r_(r),
        n_(n),
        size_(tile),
        nt_(n / tile),
        a_(g, {nt_, nt_}, elements(), ix::map::block_cyclic::over(g.num_ranks())),
        b_(g, {nt_, nt_}, elements(), ix::map::block_cyclic::over(g.num_ranks())),
        c_(g, {nt_, nt_}, elements(), ix::map::block_cyclic::over(g.num_ranks())) {}

  void fill() {
    const ix::graph_task_options here{.name = "fill", .on = ix::device_kind::host};
    for (int i = 0; i < nt_; ++i) {
      for (int j = 0; j < nt_; ++j) {
        g_.submit(here, &fill_tile, std::uint64_t{1}, i, j, size_, write(a_(i, j)));
        g_.submit(here, &fill_tile, std::uint64_t{2}, i, j, size_, write(b_(i, j)));
      }
    }
  }
  /// So that inputs have to come from the host again.
  void take_inputs_away() {
    for (int i = 0; i < nt_; ++i) {
      for (int j = 0; j < nt_; ++j) g_.evict(a_(i, j)), g_.evict(b_(i, j));
    }
  }
  /// With devices that C fits into, all tiles of C go on together: an input is used for all of them when it has come.
  /// Else one chain of tasks follows the other, so that its tile of C stays where it is.
  ix::task<> multiply() {
    return r_.on_devices() && bytes() <= r_.device_bytes / 2 ? multiply_together() : multiply_by_chains();
  }
  ix::task<int> wrong_rows() { return count_wrong_rows(g_, a_, b_, c_, nt_, size_); }

 private:
  std::size_t elements() const { return static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_); }
  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(n_) * static_cast<std::uint64_t>(n_) * sizeof(double);
  }
  ix::task<> multiply_together() {
    for (int k = 0; k < nt_; ++k) {
      for (int i = 0; i < nt_; ++i) {
        for (int j = 0; j < nt_; ++j) submit(i, j, k, 0);
        co_await g_.fewer_tasks_than(static_cast<std::uint64_t>(r_.ahead));
      }
    }
  }
  ix::task<> multiply_by_chains() {
    int priority = 0;
    for (int i = 0; i < nt_; ++i) {
      for (int j = 0; j < nt_; ++j, --priority) {
        for (int k = 0; k < nt_; ++k) submit(i, j, k, priority);
        co_await g_.fewer_tasks_than(static_cast<std::uint64_t>(r_.ahead));
      }
    }
  }
  void submit(int i, int j, int k, int priority) {
    if (k == 0) {
      submit_tile(priority, 0, a_(i, k), b_(k, j), write(c_(i, j)));
    } else {
      submit_tile(priority, 1, a_(i, k), b_(k, j), c_(i, j));
    }
  }
  template <class A, class C>
  void submit_tile(int priority, int accumulate, const A& a, const A& b, const C& c) {
    ix::graph_task_options o{.name = ix::task_name::lasting("tile"), .priority = priority};
    const auto kind = r_.on_devices() ? static_cast<ix::device_kind>(r_.device) : ix::device_kind::host;
    if (!r_.on_host || !r_.on_devices()) o.on = kind;
    const double beta = accumulate;
    if (!r_.library) {
      const auto groups = static_cast<unsigned>(size_ / 16);
      g_.submit(o, tile_product, {.groups = {groups, groups}, .group = {16, 16}}, size_, accumulate, a, b, c);
    } else if (!r_.on_devices()) {
      g_.submit(o, &host_blas_tile, size_, beta, a, b, c);
    } else {
      g_.submit(o, ix::codelet{&host_blas_tile, &cuda_blas_tile, kind}, size_, beta, a, b, c);
    }
  }

  ix::task_graph& g_;
  const request& r_;
  const int n_, size_, nt_;
  tiles a_, b_, c_;
};

/// The whole product by one call of the library: the yardstick.
void multiply_whole(const request& r, point& p) {
  const std::vector<double> a = dgemm::make_matrix(1, p.n), b = dgemm::make_matrix(2, p.n);
  std::vector<double> c(a.size());
  host_blas_whole(p.n, r.pes, a.data(), b.data(), c.data());
  const auto began = ix::clock::now();
  host_blas_whole(p.n, r.pes, a.data(), b.data(), c.data());
  p.seconds.push_back(seconds_since(began));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the library's threads spin for a while
}

ix::task<double> seconds_of(ix::task_graph& g, const request& r, product& p) {
  p.fill();
  for (int warm = 0;; ++warm) {
    co_await ix::barrier(g);
    if (!r.resident) p.take_inputs_away();
    co_await ix::barrier(g);
    const auto start = ix::clock::now();
    auto all = p.multiply();
    co_await std::move(all);
    co_await ix::barrier(g);
    if (warm > 0) co_return seconds_since(start);
  }
}

ix::task<result> measure(ix::task_graph& g, request r) {
  if (r.library && r.on_host) host_blas_single_threaded();
  result found;
  apps::step_progress shown(static_cast<int>(r.sizes.size() * r.tiles.size()) * r.repeats, r.shown && g.rank() == 0);
  for (const int n : r.sizes) {
    const std::size_t first = found.points.size();
    if (r.library && !r.on_devices() && g.num_ranks() == 1) found.points.push_back({n, 0, {}});
    for (const int tile : r.tiles) found.points.push_back({n, tile, {}});
    for (int repeat = 0; repeat < r.repeats; ++repeat) {
      for (std::size_t i = first; i < found.points.size(); ++i) {
        point& now = found.points[i];
        shown.step(fmt::format("{} in tiles of {}", n, now.tile));
        if (now.tile == 0) {
          multiply_whole(r, now);
          continue;
        }
        product p(g, r, n, now.tile);
        auto one = seconds_of(g, r, p);
        const double seconds = co_await std::move(one);
        now.seconds.push_back(seconds);
        if (!r.verify || repeat + 1 < r.repeats) continue;
        auto checked = p.wrong_rows();
        const int rows = co_await std::move(checked);
        if (rows > 0) found.wrong.push_back(fmt::format("n = {} in tiles of {}: {} rows are wrong", n, now.tile, rows));
      }
    }
  }
  co_await g.done();
  if (r.library && r.on_devices()) give_up_cuda_blas();
  co_return found;
}

void check_libraries(const options& o) {
  if (!o.library) return;
  if (o.on_host && host_blas_name().empty())
    throw ix::not_built("--kernel library: this build has no OpenBLAS: install libopenblas-dev and configure again");
  if (!o.on_devices) return;
  if (const std::string why = why_no_cuda_blas(); !why.empty()) throw ix::not_built("--kernel library: " + why);
}

void look_around(ix::runtime& rt, const options& o, result& r) {
  const ix::device_kind wanted = o.on_devices.value_or(ix::device_kind::host);
  if (rt.kind_of_device() != wanted)
    throw ix::usage_error(fmt::format("--devices {} and --imbrex-device {} contradict each other", o.devices_text(),
                                      to_string(rt.kind_of_device())));
  if (o.on_devices && o.gpus != rt.num_gpus())
    throw ix::usage_error(
        fmt::format("--gpus {}: the job has {}, and tasks run on all: leave --imbrex-gpus out", o.gpus, rt.num_gpus()));
  check_libraries(o);
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) r.host = host;
  r.cores = static_cast<int>(std::thread::hardware_concurrency());
  r.ranks = rt.num_ranks();
  r.pes = rt.num_pes() / rt.num_ranks();
  if (o.on_host) r.devices.emplace_back("the host");
  for (int i = 0; o.on_devices && i < o.gpus; ++i) r.devices.push_back(rt.gpu(i).name());
  if (o.library && o.on_host) r.library = host_blas_name();
}

std::uint64_t bytes_of_devices(const ix::runtime& rt, const options& o) {
  std::uint64_t bytes = 0;
  for (int i = 0; o.on_devices && i < o.gpus; ++i) {
    const std::uint64_t limit = rt.options().tasks.device_bytes;
    bytes += limit > 0 ? limit : rt.gpu(i).memory().free / 10 * 9;
  }
  return bytes * static_cast<std::uint64_t>(rt.num_ranks());
}

}  // namespace

ix::task<int> run_products(ix::runtime& rt, const options* o) {
  apps::check_output(o->report);
  result here;
  look_around(rt, *o, here);
  if (!o->quiet) fmt::print("{}", header_text(*o, here));
  std::fflush(stdout);
  const request r{o->sizes,
                  o->tiles,
                  here.pes,
                  o->ahead,
                  o->repeats,
                  o->library,
                  o->on_host,
                  o->resident,
                  o->verify,
                  !o->quiet,
                  o->on_devices ? static_cast<std::int8_t>(*o->on_devices) : std::int8_t{-1},
                  bytes_of_devices(rt, *o)};
  const result found = co_await ix::run_graph<&measure>(rt, r);
  here.points = found.points;
  here.wrong = found.wrong;
  apps::write_output(o->report, report_json(*o, here));
  if (!o->quiet) fmt::print("{}", table_text(*o, here));
  std::fflush(stdout);
  for (const std::string& what : here.wrong) fmt::print(stderr, "tiled_dgemm: {}\n", what);
  co_return here.wrong.empty() ? 0 : 1;
}

}  // namespace tiled_dgemm
