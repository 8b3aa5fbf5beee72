#include "referee.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "dealt_devices.h"
#include "result.h"
#include "support/output_place.h"
#include "support/step_progress.h"
#include "worker.h"

namespace dgemm {
namespace {

using workers = ix::array_proxy<worker>;

void look_around(ix::runtime& rt, const options& o, result& r) {
  if (rt.num_ranks() > 1) throw ix::usage_error("dgemm measures one process: start it without mpirun");
  const int there = std::max(rt.num_gpus(), 1);
  if (o.most_gpus() > there)
    throw ix::usage_error(fmt::format("--gpus {}: there {} only {} ({})", o.most_gpus(), there == 1 ? "is" : "are",
                                      there, to_string(rt.kind_of_device())));
  if (o.most_pes() > rt.num_pes())
    throw ix::usage_error(fmt::format("--pes {}: the job has only {} PEs", o.most_pes(), rt.num_pes()));
  if (rt.kind_of_device() != o.device)
    throw ix::usage_error(fmt::format("--device {} and --imbrex-device {} contradict each other", to_string(o.device),
                                      to_string(rt.kind_of_device())));
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) r.host = host;
  r.cores = static_cast<int>(std::thread::hardware_concurrency());
  for (int i = 0; i < rt.num_gpus() && i < o.most_gpus(); ++i) r.devices.push_back(rt.gpu(i).name());
  if (rt.num_gpus() == 0) r.devices.emplace_back("the host");
}

void choose_variants(const options& o, result& r) {
  for (const variant v :
       o.variants.empty() ? std::vector<variant>(all_variants.begin(), all_variants.end()) : o.variants) {
    if (std::string why = why_not(v, o.device); why.empty()) {
      r.run.push_back(v);
    } else {
      r.not_run.emplace_back(name(v), std::move(why));
    }
  }
  r.not_run.emplace_back("requests", "tasks always come from pools without locks: there is nothing to switch off");
  if (r.run.empty()) throw ix::usage_error("none of the variants asked for can run here: " + r.not_run[0].second);
}

/// All the measuring of one job.
class contest {
 public:
  contest(const options& o, result& r, workers all) : o_(o), r_(r), all_(all), shown_(num_steps(), !o.quiet) {}

  ix::task<> hold() {
    for (const int n : o_.sizes) {
      const std::size_t first = r_.points.size();
      add_points(n);
      for (int repeat = 0; repeat < o_.repeats; ++repeat) {
        for (std::size_t i = first; i < r_.points.size(); ++i) {
          auto one = time(i);
          co_await one;
        }
      }
    }
    shown_.finish();
  }

 private:
  int num_steps() const {
    const std::size_t teams = o_.gpus.size() * o_.pes.size();
    return static_cast<int>(r_.run.size() * teams * o_.sizes.size()) * o_.repeats;
  }

  void add_points(int n) {
    for (const int gpus : o_.gpus) {
      for (const int pes : o_.pes) {
        for (const variant v : r_.run) {
          const bool again = v == variant::naive && (gpus != o_.gpus.front() || pes != o_.pes.front());
          if (!again) r_.points.push_back({n, v == variant::naive ? 1 : gpus, v == variant::naive ? 1 : pes, v, {}});
        }
      }
    }
  }

  ix::task<> time(std::size_t number) {
    const int n = r_.points[number].n, gpus = r_.points[number].gpus, pes = r_.points[number].pes;
    const variant by = r_.points[number].by;
    shown_.step(fmt::format("{} by {}", n, name(by)));
    const int taking_part = std::min(pes, o_.iterations);
    std::vector<ix::task<>> preparing, closing;
    std::vector<ix::task<outcome>> working;
    preparing.reserve(static_cast<std::size_t>(taking_part));
    working.reserve(static_cast<std::size_t>(taking_part));
    closing.reserve(static_cast<std::size_t>(taking_part));
    for (int pe = 0; pe < taking_part; ++pe)
      preparing.push_back(
          prepare(all_[pe], {n, by, dealt_count(o_.iterations, pe, taking_part), o_.lanes, gpus, taking_part}));
    auto prepared = ix::when_all(std::move(preparing));
    co_await std::move(prepared);
    for (int pe = 0; pe < taking_part; ++pe) working.push_back(work(all_[pe]));
    auto worked = ix::when_all(std::move(working));
    const std::vector<outcome> outcomes = co_await std::move(worked);
    for (int pe = 0; pe < taking_part; ++pe) closing.push_back(close(all_[pe]));
    auto closed = ix::when_all(std::move(closing));
    co_await std::move(closed);
    take(number, outcomes);
  }

  void take(std::size_t number, const std::vector<outcome>& outcomes) {
    outcome all = outcomes.front();
    for (const outcome& o : outcomes) {
      all.began = std::min(all.began, o.began);
      all.ended = std::max(all.ended, o.ended);
      all.wrong_rows = std::max(all.wrong_rows, o.wrong_rows);
    }
    point& p = r_.points[number];
    p.seconds.push_back(static_cast<double>(std::max<std::int64_t>(all.ended - all.began, 1)) * 1e-9);
    if (all.wrong_rows > 0)
      r_.wrong.push_back(fmt::format("{} with n = {}, {} devices, {} PEs: {} rows of the product are wrong", name(p.by),
                                     p.n, p.gpus, p.pes, all.wrong_rows));
  }

  // Tasks, to be awaited together.
  static ix::task<> prepare(ix::element_proxy<worker> w, assignment a) {
    auto reply = w.call<&worker::prepare>(a);
    co_await std::move(reply);
  }
  static ix::task<outcome> work(ix::element_proxy<worker> w) {
    auto reply = w.call<&worker::work>();
    co_return co_await std::move(reply);
  }
  static ix::task<> close(ix::element_proxy<worker> w) {
    auto reply = w.call<&worker::close>();
    co_await std::move(reply);
  }

  const options& o_;
  result& r_;
  const workers all_;
  apps::step_progress shown_;
};

}  // namespace

ix::task<int> referee(ix::runtime& rt, const options* o) {
  apps::check_output(o->report);
  result r;
  look_around(rt, *o, r);
  choose_variants(*o, r);
  if (!o->quiet) fmt::print("{}", header_text(*o, r));
  std::fflush(stdout);
  contest all(*o, r, rt.create_group<worker>());
  auto held = all.hold();
  co_await held;
  apps::write_output(o->report, report_json(*o, r));
  if (!o->quiet) fmt::print("{}", tables_text(*o, r));
  std::fflush(stdout);
  for (const std::string& what : r.wrong) fmt::print(stderr, "dgemm: {}\n", what);
  co_return r.wrong.empty() ? 0 : 1;
}

}  // namespace dgemm
