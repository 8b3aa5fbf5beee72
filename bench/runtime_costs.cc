// What the runtime costs: messages, waits, reductions, creation. One process; see mpi_messages.cc for ranks.
//
//   build/default/bin/bench_runtime_costs
//
// Each figure is nanoseconds per operation: one job is started per repetition, the operation is done many times inside
// it, and the median over the repetitions is reported. `core_to_core` is the round trip of one cache line between the
// two cores that the PEs use, in the same process, because it differs by a factor of four between machines and hours.
#include <benchmark/benchmark.h>
#include <imbrex/base/clock.h>
#include <imbrex/base/topology.h>
#include <imbrex/imbrex.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

namespace ix = imbrex;

namespace {

double measured_ns = 0;  // of the last job; written on PE 0

using scenario = ix::task<double> (*)(ix::runtime&);

ix::task<int> start(ix::runtime& rt, scenario what) {
  auto t = what(rt);
  measured_ns = co_await t;
  co_return 0;
}

const char* all_pes() {
  static const std::string n = std::to_string(ix::available_cores());
  return n.c_str();
}

void job(benchmark::State& state, const char* pes, scenario what) {
  for (auto _ : state) {
    std::array<std::string, 4> words{"bench", "--imbrex-pes", pes, "--imbrex-transport=auto"};
    std::array<char*, 5> argv{};
    for (std::size_t i = 0; i < words.size(); ++i) argv[i] = words[i].data();
    if (ix::run(static_cast<int>(words.size()), argv.data(), &start, what) != 0) state.SkipWithError("the job failed");
    state.SetIterationTime(measured_ns * 1e-9);
  }
}

// ------------------------------------------------------------------------------------------------ same PE

struct self_sender : ix::chare<self_sender, ix::index3d> {
  void plain() {
    if (--left_ > 0) {
      array()[peer_].send<&self_sender::plain>();
    } else {
      ended_ = ix::now_ns();
      finished.set();
    }
  }
  void number(int n) {
    if (n > 0) {
      array()[peer_].send<&self_sender::number>(n - 1);
    } else {
      ended_ = ix::now_ns();
      finished.set();
    }
  }
  ix::task<double> run_plain(int n) {
    left_ = n;
    peer_ = index();
    const auto begin = ix::now_ns();
    array()[peer_].send<&self_sender::plain>();
    co_await finished;
    co_return double(ended_ - begin) / n;
  }
  ix::task<double> run_number(int n) {
    peer_ = index();
    const auto begin = ix::now_ns();
    array()[peer_].send<&self_sender::number>(n);
    co_await finished;
    co_return double(ended_ - begin) / n;
  }
  ix::index3d peer_;
  int left_ = 0;
  std::int64_t ended_ = 0;
  ix::completion finished;
};

ix::task<double> send_no_argument(ix::runtime& rt) {
  auto a = rt.create_array<self_sender>(ix::index3d{4, 4, 4});
  auto r = a[{1, 1, 1}].call<&self_sender::run_plain>(1'000'000);
  co_return co_await std::move(r);
}
ix::task<double> send_one_int(ix::runtime& rt) {
  auto a = rt.create_array<self_sender>(ix::index3d{4, 4, 4});
  auto r = a[{1, 1, 1}].call<&self_sender::run_number>(1'000'000);
  co_return co_await std::move(r);
}

/// Messages to elements anywhere, of which there are more than fit a cache.
struct hopper : ix::chare<hopper, ix::index1d> {
  void hop(int left, std::uint32_t at) {
    if (left > 0) {
      at = at * 1'664'525U + 1'013'904'223U;
      array()[static_cast<int>(at >> 16)].send<&hopper::hop>(left - 1, at);
    } else {
      array()[0].send<&hopper::end>();
    }
  }
  void end() { finished.set(); }
  ix::task<double> run(int n) {
    const auto begin = ix::now_ns();
    array()[0].send<&hopper::hop>(n, 1U);
    co_await finished;
    co_return double(ix::now_ns() - begin) / n;
  }
  ix::completion finished;
};
ix::task<double> send_anywhere(ix::runtime& rt) {
  auto a = rt.create_array<hopper>(ix::index1d(1 << 16));
  auto r = a[0].call<&hopper::run>(1'000'000);
  co_return co_await std::move(r);
}

struct when_loop : ix::chare<when_loop, ix::index1d> {
  ix::task<double> run(int n) {
    const auto begin = ix::now_ns();
    for (int i = 0; i < n; ++i) {
      proxy().send<&when_loop::arrived>(i, i);
      auto message = co_await arrived(i);
      sum_ += std::get<0>(message);
    }
    co_return double(ix::now_ns() - begin) / n;
  }
  ix::when<int, int> arrived;
  long sum_ = 0;
};
ix::task<double> when_per_message(ix::runtime& rt) {
  auto a = rt.create_array<when_loop>(ix::index1d(4));
  auto r = a[2].call<&when_loop::run>(1'000'000);
  co_return co_await std::move(r);
}

// ------------------------------------------------------------------------------------------------ collections

struct contributor : ix::chare<contributor, ix::index1d> {
  void go() { contribute(1, ix::sum); }
  int touch() { return 1; }
};
ix::task<double> reduction_per_element(ix::runtime& rt) {
  const int n = 10'000;
  auto a = rt.create_array<contributor>(ix::index1d(n));
  a.broadcast<&contributor::go>();
  co_await a.reduction<int>();
  const int rounds = 50;
  const auto begin = ix::now_ns();
  for (int i = 0; i < rounds; ++i) {
    a.broadcast<&contributor::go>();
    co_await a.reduction<int>();
  }
  co_return double(ix::now_ns() - begin) / rounds / n;
}
ix::task<double> create_per_element(ix::runtime& rt) {
  const int n = 200'000;
  const auto begin = ix::now_ns();
  auto a = rt.create_array<contributor>(ix::index1d(n));
  auto last = a[n - 1].call<&contributor::touch>();
  co_await std::move(last);
  co_return double(ix::now_ns() - begin) / n;
}

// ------------------------------------------------------------------------------------------------ singletons,
// quiescence

struct singleton : ix::chare<singleton> {
  explicit singleton(int) { destroy(); }
};
struct maker : ix::chare<maker, ix::index1d> {
  void go(int n) {
    for (int i = 0; i < n; ++i) rt().create<singleton>(i);
  }
};
/// Chares made on all PEs without a place given, which end at once; up to quiescence.
ix::task<double> singletons(ix::runtime& rt) {
  const int n = 50'000 / rt.num_pes() * rt.num_pes(), rounds = 20;
  auto makers = rt.create_group<maker>();
  co_await rt.quiescence();
  const auto begin = ix::now_ns();
  for (int i = 0; i < rounds; ++i) {
    makers.broadcast<&maker::go>(n / rt.num_pes());
    co_await rt.quiescence();
  }
  co_return double(ix::now_ns() - begin) / rounds / n;
}
/// From asking to knowing, where all PEs have been idle for 300 us.
ix::task<double> quiescence_after_idling(ix::runtime& rt) {
  const int rounds = 200;
  std::int64_t sum = 0;
  co_await rt.quiescence();
  for (int i = 0; i < rounds; ++i) {
    const auto idle_until = ix::now_ns() + 300'000;
    while (ix::now_ns() < idle_until) {
    }
    const auto begin = ix::now_ns();
    co_await rt.quiescence();
    sum += ix::now_ns() - begin;
  }
  co_return double(sum) / rounds;
}

// ------------------------------------------------------------------------------------------------ two PEs

struct player : ix::chare<player, ix::index1d> {
  void ball(int n) {
    if (n > 0) {
      array()[1 - index()].send<&player::ball>(n - 1);
    } else {
      finished.set();
    }
  }
  ix::task<double> play(int n) {  // n odd: the last ball comes back here
    const auto begin = ix::now_ns();
    array()[1 - index()].send<&player::ball>(n);
    co_await finished;
    co_return double(ix::now_ns() - begin) / n;
  }
  void drop() {
    if (++count_ == expected_) finished.set();
  }
  ix::task<> sink(int n) {
    expected_ = n;
    if (count_ < n) co_await finished;
  }
  ix::task<double> flood(int n) {
    const auto begin = ix::now_ns();
    for (int i = 0; i < n; ++i) array()[1].send<&player::drop>();
    auto done = array()[1].call<&player::sink>(n);
    co_await std::move(done);
    co_return double(ix::now_ns() - begin) / n;
  }
  int count_ = 0, expected_ = -1;
  ix::completion finished;
};
ix::task<double> other_pe_one_way(ix::runtime& rt) {
  auto a = rt.create_array<player>(ix::index1d(2));
  auto r = a[0].call<&player::play>(400'001);
  co_return co_await std::move(r);
}
ix::task<double> other_pe_flood(ix::runtime& rt) {
  auto a = rt.create_array<player>(ix::index1d(2));
  auto r = a[0].call<&player::flood>(1'000'000);
  co_return co_await std::move(r);
}

// The yardstick: one cache line back and forth between the same two cores.
void core_to_core(benchmark::State& state) {
  constexpr int rounds = 200'000;
  for (auto _ : state) {
    alignas(64) std::atomic<int> line{0};
    std::thread other([&] {
      ix::pin_this_thread(ix::processor_for_pe(1, 2, 0, 1));
      for (int i = 0; i < rounds; ++i) {
        while (line.load(std::memory_order_acquire) != 2 * i + 1) {
        }
        line.store(2 * i + 2, std::memory_order_release);
      }
    });
    ix::pin_this_thread(ix::processor_for_pe(0, 2, 0, 1));
    const auto begin = ix::now_ns();
    for (int i = 0; i < rounds; ++i) {
      line.store(2 * i + 1, std::memory_order_release);
      while (line.load(std::memory_order_acquire) != 2 * i + 2) {
      }
    }
    const double ns = double(ix::now_ns() - begin) / rounds;
    other.join();
    ix::unpin_this_thread();
    state.SetIterationTime(ns * 1e-9);
  }
}

void configure(benchmark::internal::Benchmark* b) {
  b->UseManualTime()->Iterations(1)->Repetitions(9)->ReportAggregatesOnly(true)->Unit(benchmark::kNanosecond);
}

// ------------------------------------------------------------------------------------------------ moves

/// A chare of 1 KB whose coroutine waits, to and fro between two PEs.
struct mover : ix::chare<mover, ix::index1d> {
  ix::task<double> go(int n) {
    left_ = n;
    const auto begin = ix::now_ns();
    migrate_to(1 - pe());
    co_await finished(0);
    co_return double(ended_ - begin) / n;
  }
  void has_moved(int from) {
    if (--left_ > 0) {
      migrate_to(from);
    } else {
      ended_ = ix::now_ns();
      proxy().send<&mover::finished>(0);
    }
  }
  ix::when<int> finished;

 private:
  std::array<char, 1024> state_{};
  int left_ = 0;
  std::int64_t ended_ = 0;
};

ix::task<double> move_while_waiting(ix::runtime& rt) {
  auto a = rt.create_array<mover>(ix::index1d(1));
  auto warm = a[0].call<&mover::go>(1000);
  co_await std::move(warm);
  auto measured = a[0].call<&mover::go>(100'000);
  co_return co_await std::move(measured);
}

}  // namespace

BENCHMARK_CAPTURE(job, send_same_pe_no_argument, "1", &send_no_argument)->Apply(configure);
BENCHMARK_CAPTURE(job, send_same_pe_one_int, "1", &send_one_int)->Apply(configure);
BENCHMARK_CAPTURE(job, send_same_pe_anywhere, "1", &send_anywhere)->Apply(configure);
BENCHMARK_CAPTURE(job, when_per_message, "1", &when_per_message)->Apply(configure);
BENCHMARK_CAPTURE(job, reduction_per_element, "1", &reduction_per_element)->Apply(configure);
BENCHMARK_CAPTURE(job, create_per_element, "1", &create_per_element)->Apply(configure);
BENCHMARK_CAPTURE(job, singletons_1_pe, "1", &singletons)->Apply(configure);
BENCHMARK_CAPTURE(job, singletons_2_pes, "2", &singletons)->Apply(configure);
BENCHMARK_CAPTURE(job, singletons_all_pes, all_pes(), &singletons)->Apply(configure);
BENCHMARK_CAPTURE(job, quiescence_after_idling_2_pes, "2", &quiescence_after_idling)->Apply(configure);
BENCHMARK_CAPTURE(job, quiescence_after_idling_all_pes, all_pes(), &quiescence_after_idling)->Apply(configure);
BENCHMARK(core_to_core)->Apply(configure);
BENCHMARK_CAPTURE(job, other_pe_one_way, "2", &other_pe_one_way)->Apply(configure);
BENCHMARK_CAPTURE(job, other_pe_flood, "2", &other_pe_flood)->Apply(configure);

BENCHMARK_CAPTURE(job, move_while_waiting_2_pes, "2", &move_while_waiting)->Apply(configure);

BENCHMARK_MAIN();
