// What a task costs with StarPU, as task_costs.cc measures it here: the same scenarios, the same number of tasks.
// Nanoseconds for each task.
//
//   build/default/bin/bench_task_costs_starpu [--workers=N]
//
// One thread submits, N others (1) run the tasks, by StarPU's default scheduler. `scripts/bench-tasks` prints both side
// by side.
#include <benchmark/benchmark.h>
#include <starpu.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

int num_workers = 1;

using clock_type = std::chrono::steady_clock;
using scenario = double (*)(int);

void nothing_at_all(void**, void*) {}

starpu_codelet codelet(const std::vector<starpu_data_access_mode>& modes) {
  starpu_codelet c;
  starpu_codelet_init(&c);
  c.cpu_funcs[0] = &nothing_at_all;
  c.cpu_funcs_name[0] = "nothing_at_all";
  c.nbuffers = static_cast<int>(modes.size());
  for (std::size_t i = 0; i < modes.size(); ++i) c.modes[i] = modes[i];
  return c;
}

/// An array of doubles that StarPU looks after.
class object {
 public:
  object() {
    starpu_vector_data_register(&handle_, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(data_.data()),
                                static_cast<std::uint32_t>(data_.size()), sizeof(double));
  }
  ~object() { starpu_data_unregister(handle_); }
  object(const object&) = delete;
  starpu_data_handle_t handle() const { return handle_; }

 private:
  std::array<double, 16> data_{};
  starpu_data_handle_t handle_ = nullptr;
};

void check(int result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "bench_task_costs_starpu: %s failed: error %d\n", what, -result);
  std::exit(1);
}

/// Submits `n` tasks and waits for all; ns for each.
double submit_all(int n, starpu_codelet& c, const std::vector<const object*>& objects) {
  const auto began = clock_type::now();
  for (int i = 0; i < n; ++i) {
    starpu_task* const t = starpu_task_create();
    t->cl = &c;
    for (std::size_t k = 0; k < objects.size(); ++k) t->handles[k] = objects[k]->handle();
    check(starpu_task_submit(t), "starpu_task_submit");
  }
  check(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
  return std::chrono::duration<double, std::nano>(clock_type::now() - began).count() / n;
}

double chain(int n) {
  starpu_codelet c = codelet({STARPU_RW});
  const object x;
  return submit_all(n, c, {&x});
}

double three_objects(int n) {
  starpu_codelet c = codelet({STARPU_R, STARPU_R, STARPU_RW});
  const object x, y, z;
  return submit_all(n, c, {&x, &y, &z});
}

double independent(int n) {
  starpu_codelet c = codelet({});
  return submit_all(n, c, {});
}

double one_at_a_time(int n) {
  starpu_codelet c = codelet({});
  const auto began = clock_type::now();
  for (int i = 0; i < n; ++i) {
    starpu_task* const t = starpu_task_create();
    t->cl = &c;
    t->detach = 0;
    check(starpu_task_submit(t), "starpu_task_submit");
    check(starpu_task_wait(t), "starpu_task_wait");
  }
  return std::chrono::duration<double, std::nano>(clock_type::now() - began).count() / n;
}

void job(benchmark::State& state, scenario what, int n) {
  for (auto _ : state) {
    starpu_conf conf;
    check(starpu_conf_init(&conf), "starpu_conf_init");
    conf.ncpus = num_workers;
    conf.ncuda = 0;
    conf.nopencl = 0;
    check(starpu_init(&conf), "starpu_init");
    what(n / 10 + 1);
    state.SetIterationTime(what(n) * 1e-9);
    starpu_shutdown();
  }
}

void add(const char* name, scenario what, int n) {
  benchmark::RegisterBenchmark(name, [what, n](benchmark::State& s) { job(s, what, n); })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(9)
      ->ReportAggregatesOnly()
      ->Unit(benchmark::kNanosecond);
}

/// Takes `--workers=N` out; false when N is no number of workers.
bool read_workers(int& argc, char** argv) {
  int left = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--workers=")) {
      num_workers = std::atoi(word.c_str() + 10);
    } else {
      argv[left++] = argv[i];
    }
  }
  argc = left;
  return num_workers >= 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (!read_workers(argc, argv)) {
    std::fprintf(stderr, "bench_task_costs_starpu: --workers=N needs at least one worker\n");
    return 2;
  }
  setenv("STARPU_SILENT", "1", 0);
  add("chain through one object", &chain, 100'000);
  add("three objects", &three_objects, 100'000);
  add("independent", &independent, 100'000);
  add("submit one and wait", &one_at_a_time, 10'000);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
