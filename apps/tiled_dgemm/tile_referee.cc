#include "tile_referee.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "command_line.h"
#include "host_blas.h"
#include "imbrex/base/clock.h"
#include "support/step_progress.h"
#include "tile_result.h"
#include "tile_worker.h"
#if TILED_DGEMM_CUBLAS
#include "gpu_blas.h"
#endif

namespace tiled_dgemm {
namespace {

using workers = ix::array_proxy<tile_worker>;

void check_libraries(const options& o) {
  if (!o.library) return;
  if (o.on_host && host_blas_name().empty())
    throw ix::not_built("--kernel library: this build has no OpenBLAS: install libopenblas-dev and configure again");
  if (!o.on_devices) return;
#if TILED_DGEMM_CUBLAS
  if (const std::string why = why_no_cuda_blas(); !why.empty())
    throw ix::not_built("--kernel library: cuBLAS cannot be loaded: " + why);
#else
  throw ix::not_built("--kernel library: this build has no cuBLAS: use --kernel dialect");
#endif
}

void look_around(ix::runtime& rt, const options& o, result& r) {
  if (rt.num_ranks() > 1) throw ix::usage_error("tiled_dgemm is for one process: start it without mpirun");
  const ix::device_kind wanted = o.on_devices.value_or(ix::device_kind::host);
  if (rt.kind_of_device() != wanted)
    throw ix::usage_error(fmt::format("--devices {} and --imbrex-device {} contradict each other", o.devices_text(),
                                      to_string(rt.kind_of_device())));
  if (o.on_devices && o.gpus > rt.num_gpus())
    throw ix::usage_error(fmt::format("--gpus {}: the job has only {}", o.gpus, rt.num_gpus()));
  check_libraries(o);
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) r.host = host;
  r.cores = static_cast<int>(std::thread::hardware_concurrency());
  r.pes = o.pes > 0 ? std::min(o.pes, rt.num_pes()) : rt.num_pes();
  if (o.on_host) r.devices.emplace_back("the host");
  for (int i = 0; o.on_devices && i < o.gpus; ++i) r.devices.push_back(rt.gpu(i).name());
  if (o.library && o.on_host) r.library = host_blas_name();
}

/// All the measuring of one job.
class contest {
 public:
  contest(const options& o, result& r, workers all)
      : o_(o), r_(r), all_(all), shown_(static_cast<int>(o.sizes.size() * o.tiles.size()) * o.repeats, !o.quiet) {}

  ix::task<> hold() {
    if (o_.library && o_.on_host) host_blas_single_threaded();
    for (const int n : o_.sizes) {
      const std::size_t first = r_.points.size();
      if (o_.library && o_.on_host && !o_.on_devices) r_.points.push_back({n, 0, {}});
      for (const int tile : o_.tiles) r_.points.push_back({n, tile, {}});
      for (int repeat = 0; repeat < o_.repeats; ++repeat) {
        for (std::size_t i = first; i < r_.points.size(); ++i) {
          shown_.step(fmt::format("{} in tiles of {}", n, r_.points[i].tile));
          if (r_.points[i].tile == 0) {
            multiply_whole(r_.points[i]);
            continue;
          }
          auto one = time(i, repeat + 1 == o_.repeats);
          co_await one;
        }
      }
    }
    shown_.finish();
  }

 private:
  void multiply_whole(point& p) {
    const std::vector<double> a = dgemm::make_matrix(1, p.n), b = dgemm::make_matrix(2, p.n);
    std::vector<double> c(a.size());
    host_blas_whole(p.n, r_.pes, a.data(), b.data(), c.data());
    const std::int64_t began = ix::now_ns();
    host_blas_whole(p.n, r_.pes, a.data(), b.data(), c.data());
    p.seconds.push_back(static_cast<double>(ix::now_ns() - began) * 1e-9);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the library's threads spin for a while
  }

  ix::task<> time(std::size_t number, bool last) {
    const int n = r_.points[number].n, tile = r_.points[number].tile;
    const int taking_part = std::min(r_.pes, n / tile);
    const assignment a{n,
                       tile,
                       taking_part,
                       o_.on_devices ? o_.gpus : 0,
                       o_.library,
                       o_.on_host,
                       o_.on_devices.has_value(),
                       o_.resident,
                       o_.host_share};
    std::vector<ix::task<>> preparing, closing;
    std::vector<ix::task<time_span>> working;
    preparing.reserve(static_cast<std::size_t>(taking_part));
    working.reserve(static_cast<std::size_t>(taking_part));
    closing.reserve(static_cast<std::size_t>(taking_part));
    for (int pe = 0; pe < taking_part; ++pe) preparing.push_back(prepare(all_[pe], a));
    auto prepared = ix::when_all(std::move(preparing));
    co_await std::move(prepared);
    for (int pe = 0; pe < taking_part; ++pe) working.push_back(multiply(all_[pe]));
    auto worked = ix::when_all(std::move(working));
    const std::vector<time_span> times = co_await std::move(worked);
    take(number, times);
    if (last && o_.verify) {
      auto checked = check(number, taking_part);
      co_await checked;
    }
    for (int pe = 0; pe < taking_part; ++pe) closing.push_back(close(all_[pe]));
    auto closed = ix::when_all(std::move(closing));
    co_await std::move(closed);
  }

  void take(std::size_t number, const std::vector<time_span>& times) {
    time_span all = times.front();
    for (const time_span& t : times) {
      all.began = std::min(all.began, t.began);
      all.ended = std::max(all.ended, t.ended);
    }
    r_.points[number].seconds.push_back(static_cast<double>(std::max<std::int64_t>(all.ended - all.began, 1)) * 1e-9);
  }

  ix::task<> check(std::size_t number, int taking_part) {
    for (int pe = 0; pe < taking_part; ++pe) {
      auto reply = all_[pe].call<&tile_worker::check>();
      const int rows = co_await std::move(reply);
      if (rows > 0)
        r_.wrong.push_back(fmt::format("n = {} in tiles of {}: {} rows of PE {}'s part are wrong", r_.points[number].n,
                                       r_.points[number].tile, rows, pe));
    }
  }

  // Tasks, to be awaited together.
  static ix::task<> prepare(ix::element_proxy<tile_worker> w, assignment a) {
    auto reply = w.call<&tile_worker::prepare>(a);
    co_await std::move(reply);
  }
  static ix::task<time_span> multiply(ix::element_proxy<tile_worker> w) {
    auto reply = w.call<&tile_worker::multiply>();
    co_return co_await std::move(reply);
  }
  static ix::task<> close(ix::element_proxy<tile_worker> w) {
    auto reply = w.call<&tile_worker::close>();
    co_await std::move(reply);
  }

  const options& o_;
  result& r_;
  const workers all_;
  apps::step_progress shown_;
};

}  // namespace

ix::task<int> referee(ix::runtime& rt, const options* o) {
  dgemm::check_report_writable(o->report);
  result r;
  look_around(rt, *o, r);
  if (!o->quiet) fmt::print("{}", header_text(*o, r));
  std::fflush(stdout);
  contest all(*o, r, rt.create_group<tile_worker>());
  auto held = all.hold();
  co_await held;
  dgemm::write_report(o->report, report_json(*o, r));
  if (!o->quiet) fmt::print("{}", table_text(*o, r));
  std::fflush(stdout);
  for (const std::string& what : r.wrong) fmt::print(stderr, "tiled_dgemm: {}\n", what);
  co_return r.wrong.empty() ? 0 : 1;
}

}  // namespace tiled_dgemm
