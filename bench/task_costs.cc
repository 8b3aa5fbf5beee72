// What a task costs the host: submission, dependencies, placement, end. Nanoseconds for each task.
//
//   build/default/bin/bench_task_costs [--imbrex-device=cuda]
//
// One PE, or two where tasks come from another one than their objects' own. Each figure is the median of several jobs;
// in each, tasks are submitted from one coroutine, which then awaits the last. The kernels compute nothing.
#include <benchmark/benchmark.h>
#include <imbrex/base/clock.h>
#include <imbrex/imbrex.h>
#include <imbrex/task_graph.h>

#include <string>
#include <vector>

#include "task_costs.hk"

namespace ix = imbrex;

namespace {

std::vector<std::string> options_of_runtime;
double measured_ns = 0;  // for each task of the last job; written on PE 0
ix::runtime* job_of_now = nullptr;

using object = ix::hetero_object<double>;
using scenario = ix::task<double> (*)(int);

void nothing_at_all() {}

object defined(std::size_t n = 16) {
  object x(n);
  submit({}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 0.0); }, write(x));
  return x;
}

/// ns for each task, the last one included.
ix::task<double> until(ix::hetero_task last, std::int64_t began, int tasks) {
  co_await last;
  co_return static_cast<double>(ix::now_ns() - began) / tasks;
}

ix::task<double> chain(int n) {
  const object x = defined();
  const std::int64_t began = ix::now_ns();
  ix::hetero_task last;
  for (int i = 0; i < n; ++i) last = submit({}, [](double*) {}, x);
  return until(last, began, n);
}

ix::task<double> three_objects(int n) {
  const object a = defined(), b = defined(), c = defined();
  const std::int64_t began = ix::now_ns();
  ix::hetero_task last;
  for (int i = 0; i < n; ++i) last = submit({}, [](const double*, const double*, double*) {}, a, b, c);
  return until(last, began, n);
}

ix::task<double> independent(int n) {
  const std::int64_t began = ix::now_ns();
  ix::hetero_task last;
  for (int i = 0; i < n; ++i) last = ix::submit({}, &nothing_at_all);
  return until(last, began, n);
}

/// Tasks of a window that is replayed; with `n` in all.
ix::task<double> replays(ix::task_window window, int n) {
  const int rounds = n / static_cast<int>(window.num_tasks()) + 1;
  const std::int64_t began = ix::now_ns();
  ix::hetero_task last;
  for (int i = 0; i < rounds; ++i) last = window.replay();
  return until(last, began, rounds * static_cast<int>(window.num_tasks()));
}

constexpr int tasks_of_window = 1000;

ix::task<double> replay_independent(int n) {
  return replays(ix::record([] {
                   for (int i = 0; i < tasks_of_window; ++i) ix::submit({}, &nothing_at_all);
                 }),
                 n);
}

ix::task<double> replay_chain(int n) {
  const object x = defined();
  return replays(ix::record([&x] {
                   for (int i = 0; i < tasks_of_window; ++i) submit({}, [](double*) {}, x);
                 }),
                 n);
}

/// One window after another is waited for.
ix::task<double> replay_ten(int n) {
  const object a = defined(), b = defined(), c = defined();
  const ix::task_window window = ix::record([&] {
    for (int i = 0; i < 10; ++i) submit({}, [](const double*, const double*, double*) {}, a, b, c);
  });
  const std::int64_t began = ix::now_ns();
  for (int i = 0; i < n; i += 10) {
    const ix::hetero_task t = window.replay();
    co_await t;
  }
  co_return static_cast<double>(ix::now_ns() - began) / n;
}

ix::task<double> one_at_a_time(int n) {
  const std::int64_t began = ix::now_ns();
  for (int i = 0; i < n; ++i) {
    const ix::hetero_task t = ix::submit({}, &nothing_at_all);
    co_await t;
  }
  co_return static_cast<double>(ix::now_ns() - began) / n;
}

ix::task<double> empty_on_device(int n) {
  const object x = defined();
  const std::int64_t began = ix::now_ns();
  ix::hetero_task last;
  for (int i = 0; i < n; ++i) last = submit({}, [](ix::stream&, double*) {}, x);
  return until(last, began, n);
}

ix::task<double> kernel_on_device(int n) {
  const object x = defined();
  const std::int64_t began = ix::now_ns();
  ix::hetero_task last;
  for (int i = 0; i < n; ++i) last = ix::submit({}, touch_nothing, ix::launch_shape(), x);
  return until(last, began, n);
}

/// The same without tasks: the yardstick.
ix::task<double> bare_kernels(int n) {
  ix::device& on = *ix::scheduler::current().default_device;
  const auto s = on.make_stream(ix::stream_priority::low, "bare kernels");
  const ix::buffer<double> x(on, 16);
  const std::int64_t began = ix::now_ns();
  for (int i = 0; i < n; ++i) launch(*s, touch_nothing, ix::launch_shape(), x.data());
  co_await s->done();
  co_return static_cast<double>(ix::now_ns() - began) / n;
}

/// Steps of a line of objects, each of which reads its neighbours.
ix::task<double> stencil_on_device(int n) {
  constexpr int width = 16;
  std::vector<object> now, next;
  for (int i = 0; i < width; ++i) {
    now.push_back(defined());
    next.push_back(defined());
  }
  const std::int64_t began = ix::now_ns();
  for (int i = 0; i < n; ++i) {
    const int at = i % width;
    ix::submit({}, touch_three, ix::launch_shape(), now[static_cast<std::size_t>((at + width - 1) % width)],
               now[static_cast<std::size_t>(at)], now[static_cast<std::size_t>((at + 1) % width)],
               write(next[static_cast<std::size_t>(at)]));
    if (at == width - 1) std::swap(now, next);
  }
  for (const object& o : now) {
    auto access = o.host(ix::access_mode::read);
    auto view = co_await access;
  }
  co_return static_cast<double>(ix::now_ns() - began) / n;
}

/// The same as a window of two steps, which a GPU takes as a graph.
ix::task<double> stencil_replayed(int n) {
  constexpr std::size_t width = 16;
  std::vector<object> now, next;
  for (std::size_t i = 0; i < width; ++i) {
    now.push_back(defined());
    next.push_back(defined());
  }
  const ix::task_window window = ix::record([&] {
    for (int step = 0; step < 2; ++step) {
      for (std::size_t i = 0; i < width; ++i) {
        ix::submit({}, touch_three, ix::launch_shape(), now[(i + width - 1) % width], now[i], now[(i + 1) % width],
                   write(next[i]));
      }
      std::swap(now, next);
    }
  });
  for (int i = 0; i < 2; ++i) {  // the graph is made the second time
    const ix::hetero_task t = window.replay();
    co_await t;
  }
  const int rounds = n / static_cast<int>(2 * width) + 1;
  const std::int64_t began = ix::now_ns();
  ix::hetero_task last;
  for (int i = 0; i < rounds; ++i) last = window.replay();
  auto all = until(last, began, rounds * static_cast<int>(2 * width));
  co_return co_await all;
}

/// Nobody is sent anything.
struct no_link final : ix::detail::graph_link {
  void send_object(ix::rank_id, std::uint64_t, std::uint32_t, std::uint64_t, ix::detail::object_parcel) override {}
  void send_failure(ix::rank_id, const ix::detail::object_failure&) override {}
};

/// Tasks of a graph over two ranks that only the other one has to do with.
ix::task<double> passed_over(int n) {
  constexpr int width = 64;
  no_link link;
  ix::task_graph g(0, 2, link);
  ix::distributed<double, ix::index2d> a(g, {width, width}, 16, ix::map::constant{1});
  const std::int64_t began = ix::now_ns();
  for (int i = 0; i < n; ++i) {
    const int x = i % width, y = i / width % width;
    g.submit({.name = "gemm"}, [](const double*, const double*, double*) {}, a(x, 0), a(y, 0), a(x, y));
  }
  co_return static_cast<double>(ix::now_ns() - began) / n;
}

/// On the second PE: tasks on an object of the first one's.
struct visitor : ix::chare<visitor, ix::index1d> {
  ix::task<double> submit_all(int n, bool wait) {
    ix::hetero_domain& all = co_await ix::process_domain();
    const object x(all, 16);
    submit({}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 0.0); }, write(x));
    const std::int64_t began = ix::now_ns();
    ix::hetero_task last;
    for (int i = 0; i < n; ++i) {
      last = submit({}, [](double*) {}, x);
      if (wait) co_await last;
    }
    co_await last;
    co_return static_cast<double>(ix::now_ns() - began) / n;
  }
};
ix::task<double> from_another_pe(int n) {
  auto visitors = job_of_now->create_array<visitor>(2);
  auto all = visitors[1].call<&visitor::submit_all>(n, false);
  co_return co_await std::move(all);
}
ix::task<double> from_another_pe_one_at_a_time(int n) {
  auto visitors = job_of_now->create_array<visitor>(2);
  auto all = visitors[1].call<&visitor::submit_all>(n, true);
  co_return co_await std::move(all);
}

ix::task<int> start(ix::runtime& rt, scenario what, int n) {
  job_of_now = &rt;
  auto warm = what(n / 10 + 1);
  co_await warm;
  auto t = what(n);
  measured_ns = co_await t;
  co_return 0;
}

void job(benchmark::State& state, scenario what, int n, int pes) {
  for (auto _ : state) {
    std::vector<std::string> words{"bench", "--imbrex-pes=" + std::to_string(pes)};
    words.insert(words.end(), options_of_runtime.begin(), options_of_runtime.end());
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    if (ix::run(static_cast<int>(words.size()), argv.data(), &start, what, n) != 0)
      state.SkipWithError("the job failed");
    state.SetIterationTime(measured_ns * 1e-9);
  }
}

void add(const char* name, scenario what, int n, int pes = 1) {
  benchmark::RegisterBenchmark(name, [what, n, pes](benchmark::State& s) { job(s, what, n, pes); })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(9)
      ->ReportAggregatesOnly()
      ->Unit(benchmark::kNanosecond);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<char*> rest;
  bool device = false;
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--imbrex-")) {
      options_of_runtime.push_back(word);
      device |= word.starts_with("--imbrex-device=") && word != "--imbrex-device=host";
    } else {
      rest.push_back(argv[i]);
    }
  }
  add("chain through one object", &chain, 100'000);
  add("three objects", &three_objects, 100'000);
  add("independent", &independent, 100'000);
  add("submit one and wait", &one_at_a_time, 10'000);
  add("from another PE: chain", &from_another_pe, 100'000, 2);
  add("from another PE: submit one and wait", &from_another_pe_one_at_a_time, 10'000, 2);
  add("passed over by a rank", &passed_over, 1'000'000);
  add("replay: independent", &replay_independent, 1'000'000);
  add("replay: chain", &replay_chain, 1'000'000);
  add("replay: 10 of three objects, and wait", &replay_ten, 100'000);
  if (device) {
    add("device: chain of empty tasks", &empty_on_device, 20'000);
    add("device: kernels without tasks", &bare_kernels, 20'000);
    add("device: chain of kernels", &kernel_on_device, 20'000);
    add("device: stencil of 16", &stencil_on_device, 20'000);
    add("device: stencil of 16, replayed", &stencil_replayed, 20'000);
  }
  int left = static_cast<int>(rest.size());
  benchmark::Initialize(&left, rest.data());
  if (benchmark::ReportUnrecognizedArguments(left, rest.data())) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
