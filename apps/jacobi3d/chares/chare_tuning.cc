#include "chares/chare_tuning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imbrex/clock.h>
#include <imbrex/tuner.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <vector>

#include "chares/chare_block.h"
#include "imbrex/base/build_config.h"
#include "options.h"

namespace jacobi {
namespace {

/// What is set on all ranks.
struct choice {
  int odf = 0;                               ///< 0: as given
  int steps = 0;                             ///< 0: as given
  int fusion = 0;                            ///< 0: as given; 1: what is used by itself; 2: C
  std::int64_t warm_up = 0, iterations = 0;  ///< of a trial; none: as given

  template <class Archive>
  void serialize(Archive& ar) {
    ar & odf & steps & fusion & warm_up & iterations;
  }
};

options chosen;  ///< of this process; `this_job.given` from the first choice on
std::mutex choosing;

options with(const options& given, const choice& c) {
  options o = given;
  if (c.odf > 0) o.odf = c.odf;
  if (c.steps > 0) o.steps = c.steps;
  if (o.steps == resident_steps) o.odf = 1;
  if (c.fusion == 2) o.gpu.fusion = fusion_strategy::c;
  if (c.iterations == 0) return o;
  // A trial looks at nothing, begins the same everywhere, and leaves nothing behind.
  o.warm_up = c.warm_up;
  o.iterations = c.iterations;
  o.repeats = 1;
  o.tolerance.reset();
  o.initial = {};
  o.balance_every = 0;
  o.point_every = std::int64_t{1} << 40;
  o.verify = false;
  o.outputs.clear();
  return o;
}

/// On every rank. Ranks of one process set the same: nobody reads it meanwhile.
struct chooser : ix::chare<chooser, ix::index1d> {
  void set(choice c) {
    {
      const std::lock_guard hold(choosing);
      chosen = with(*this_job.of_command_line, c);
      this_job.given = &chosen;
    }
    contribute(0, ix::sum);
  }
};

/// How long trials may go on: what making blocks and their first exchanges take does not count, which would end
/// searches of several processes before they have seen anything.
class budget {
 public:
  explicit budget(const options& o) : iterations_(std::max<std::int64_t>(100, o.iterations / 10)) {}

  void spend(std::int64_t iterations, double us_each) {
    spent_ += iterations;
    iterating_us_ += static_cast<double>(iterations) * us_each;
  }
  std::int64_t spent() const { return spent_; }
  double seconds() const { return std::chrono::duration<double>(ix::clock::now() - began_).count(); }
  bool is_over() const { return spent_ >= iterations_ && iterating_us_ >= least_us; }

 private:
  static constexpr double least_us = 100'000;
  const ix::clock::time_point began_ = ix::clock::now();
  const std::int64_t iterations_;
  std::int64_t spent_ = 0;
  double iterating_us_ = 0;
};

/// Iterations of a trial: whole passes, few, but for some milliseconds where they are short: a trial's beginning and
/// end take some 50 us, which are to be less than the differences that count.
std::int64_t iterations_of_trial(int steps, double least_us) {
  constexpr double enough_us = 4000;
  const auto by_time = static_cast<std::int64_t>(enough_us / std::max(least_us, 1.0));
  const std::int64_t some = std::clamp<std::int64_t>(by_time, 6, 1000);
  return std::max<std::int64_t>((some + steps - 1) / steps, 2) * steps;
}

std::vector<ix::tuning_parameter> parameters_of(const options& o, bool on_gpus) {
  std::vector<ix::tuning_parameter> all;
  if (o.tuned.odf) all.push_back({"odf", {1, 2, 4, 8, 16}});
  if (o.tuned.steps) {
    all.push_back(on_gpus ? ix::tuning_parameter{"steps", {1, 4, 8, resident_steps}, false}
                          : ix::tuning_parameter{"steps", {1, 2, 4, 8}});
  }
  if (o.tuned.fusion && on_gpus) all.push_back({"fusion", {1, 2}, false});
  return all;
}

/// What the best depends on beside the machine; what is given for good, too.
std::string problem_of(const ix::runtime& rt, const options& o) {
  const gpu_options& g = o.gpu;
  const std::string chares = o.num_chares ? fmt::format("{} chares", *o.num_chares)
                             : o.odf      ? fmt::format("ODF {}", *o.odf)
                                          : "ODF open";
  return fmt::format(
      "{} x {} x {}, {}, {}, map {}, imbalance {}, {}; {}, {} steps, fusion {}, graph {}, comm {}, streams {}",
      o.grid.nx, o.grid.ny, o.grid.nz, o.boundary.periodic ? "periodic" : "fixed",
      o.formula.weighted ? "weighted" : "mean", name(o.map), o.imbalance, to_string(rt.kind_of_device()), chares,
      o.steps, g.fusion ? name(*g.fusion) : "open", g.graph ? *g.graph ? "on" : "off" : "open",
      g.halos ? name(*g.halos) : "open", g.streams ? name(*g.streams) : "open");
}

choice choice_of(const options& o, const ix::tuning_point& p) {
  choice c;
  const auto is_asked = [&](const char* what) { return std::ranges::find(p.names(), what) != p.names().end(); };
  if (o.tuned.odf) c.odf = p["odf"];
  if (o.tuned.steps) c.steps = p["steps"];
  if (is_asked("fusion")) c.fusion = p["fusion"];
  return c;
}

std::string text_of(const choice& c, const options& now) {
  if (c.steps == resident_steps) return "resident";
  std::vector<std::string> words;
  if (c.odf > 0) words.push_back(fmt::format("ODF {}", c.odf));
  if (c.steps > 0) words.push_back(c.steps == 1 ? "single steps" : fmt::format("{} steps", c.steps));
  if (c.fusion > 0 && now.steps == 1) words.emplace_back(c.fusion == 1 ? "fusion as by itself" : "fusion C");
  return fmt::format("{}", fmt::join(words, ", "));
}

ix::task<> set_on_all(ix::array_proxy<chooser> all, choice c) {
  all.broadcast<&chooser::set>(c);
  co_await all.reduction<int>();
}

/// Microseconds an iteration; infinite where it cannot be done.
ix::task<double> cost_of(ix::runtime& rt, bool on_gpus) {
  const double impossible = std::numeric_limits<double>::infinity();
  if (this_job.given->steps > 1 && this_job.given->gpu.fusion) co_return impossible;  // fusion is for single steps
  try {
    auto tried = on_gpus ? try_on_gpus(rt) : try_on_host(rt);
    co_return co_await tried;
  } catch (const ix::usage_error&) {
  } catch (const ix::out_of_memory&) {
  }
  co_return impossible;
}

}  // namespace

ix::task<std::string> choose_options(ix::runtime& rt) {
  const options given = *this_job.given;
  const bool on_gpus = rt.kind_of_device() == ix::device_kind::cuda;
  const std::vector<ix::tuning_parameter> parameters = parameters_of(given, on_gpus);
  if (parameters.empty()) co_return "";  // fusion on the host
  ix::tuner t(rt, "jacobi3d", problem_of(rt, given), parameters);
  const auto all = rt.create_node_group<chooser>();
  budget left(given);
  double least_us = std::numeric_limits<double>::infinity();
  while (const auto p = t.next()) {
    choice c = choice_of(given, *p);
    const int wanted = c.steps > 0 ? c.steps : given.steps, steps = wanted == resident_steps ? 1 : wanted;
    c.warm_up = std::max(steps, 4);
    c.iterations = iterations_of_trial(steps, std::isfinite(least_us) ? least_us : 1000);
    auto set = set_on_all(all, c);
    co_await set;
    if (t.num_trials() == 0) {  // what comes first finds everything cold
      auto cold = cost_of(rt, on_gpus);
      const double cold_us = co_await cold;
      if (std::isfinite(cold_us)) left.spend(c.warm_up + c.iterations, cold_us);
    }
    auto tried = cost_of(rt, on_gpus);
    const double us = co_await tried;
    if (std::isfinite(us)) left.spend(c.warm_up + c.iterations, us);
    least_us = std::min(least_us, us);
    t.tell(us);
    if (left.is_over()) t.stop();
  }
  const choice best = choice_of(given, t.best());
  auto set = set_on_all(all, best);
  co_await set;
  all.destroy();
  const std::string found = text_of(best, *this_job.given);
  if (t.was_remembered()) co_return found + " (remembered)";
  co_return fmt::format("{} ({} trials, {} iterations, {:.2g} s)", found, t.num_trials(), left.spent(), left.seconds());
}

}  // namespace jacobi
