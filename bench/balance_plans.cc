// How long balancing strategies take to plan, and what comes of it: 1,000,000 elements on 4,096 PEs, while a hot spot
// wanders from step to step. One thread, no job; times are what that thread ran.
//
//   build/default/bin/bench_balance_plans [--benchmark_filter=refine]
//
// Each strategy goes its own way: it begins each step with what it has made of the one before. A figure is the time of
// one plan; `efficiency`, `moves` and `between_pes_mb` are means over the steps.
#include <benchmark/benchmark.h>
#include <imbrex/balance/balance_strategy.h>
#include <imbrex/balance/example_problem.h>
#include <time.h>

#include <array>
#include <string>
#include <vector>

namespace ix = imbrex;

namespace {

constexpr int num_steps = 5;

/// Other programs of the machine do not count.
double seconds_run() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

ix::balance_problem problem_of_step(int step, bool with_gpus) {
  ix::example_options o;
  o.extents = {100, 100, 100};
  o.num_pes = 4096;
  o.pes_per_rank = 16;
  o.ranks_per_node = 4;
  o.gpus_per_node = with_gpus ? 4 : 0;
  o.gpu_share = with_gpus ? 0.7 : 0;
  o.turn = 0.05 * step;
  return ix::example_problem(o);
}

/// Made once: to make them takes longer than to plan.
const std::vector<ix::balance_problem>& problems(bool with_gpus) {
  static std::array<std::vector<ix::balance_problem>, 2> all;
  std::vector<ix::balance_problem>& p = all[with_gpus ? 1 : 0];
  for (int i = static_cast<int>(p.size()); i < num_steps; ++i) p.push_back(problem_of_step(i, with_gpus));
  return p;
}

void plan(benchmark::State& state, const std::string& name, bool with_gpus) {
  const auto strategy = ix::make_strategy(name);
  std::vector<int> placement;
  double efficiency = 0;
  double moves = 0;
  double bytes = 0;
  int step = 0;
  for (auto _ : state) {
    ix::balance_problem p = problems(with_gpus)[static_cast<std::size_t>(step % num_steps)];
    for (std::size_t i = 0; i < placement.size(); ++i) p.elements[i].pe = placement[i];
    const double begin = seconds_run();
    const ix::balance_plan found = strategy->plan(p);
    state.SetIterationTime(seconds_run() - begin);
    const ix::judgement j = ix::judge(p, found);
    efficiency += j.efficiency;
    moves += static_cast<double>(j.num_moves);
    bytes += j.bytes_between_pes;
    placement = ix::placement_after(p, found);
    ++step;
  }
  state.counters["efficiency"] = efficiency / step;
  state.counters["moves"] = moves / step;
  state.counters["between_pes_mb"] = bytes / step / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  for (const bool with_gpus : {false, true}) {
    for (const ix::strategy_facts& f : ix::known_strategies()) {
      if (!f.is_built) continue;
      const std::string name = f.name + (with_gpus ? "/with_gpus" : "/host");
      benchmark::RegisterBenchmark(name.c_str(), [f, with_gpus](benchmark::State& s) { plan(s, f.name, with_gpus); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond)
          ->Iterations(num_steps);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
