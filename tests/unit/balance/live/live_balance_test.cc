#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "imbrex/balance/balance_record.h"
#include "imbrex/balance/balance_strategy.h"
#include "unit/object/job.h"

namespace live_balance_test {

/// Whole jobs whose loads are balanced while they run.
namespace {

namespace ix = imbrex;
using imbrex_test::command_line;
using imbrex_test::job_shape;

/// Keeps its PE busy for so many microseconds.
void work_for(std::int64_t us) {
  const std::int64_t end = ix::now_ns() + us * 1000;
  while (ix::now_ns() < end) {
  }
}

/// Of two PEs, with the dear quarter of the elements on the first one.
constexpr double placed_efficiency = 0.7;

/// Works as long as it is dear, and talks to its neighbour meanwhile.
struct worker : ix::chare<worker, ix::index1d> {
  worker() : out_(on_host(), 4), in_(on_host(), 4) {
    const int n = extent().x;
    to_ = ix::channel<int>(*this, array()[(index().x + 1) % n], 0, 1);
    from_ = ix::channel<int>(*this, array()[(index().x + n - 1) % n], 1, 0);
  }
  ix::task<> run(int steps, bool calls, bool on_stream) {
    const int cost = index().x < extent().x / 4 ? 400 : 100;
    int errors = 0;
    ix::stream_set& s = streams();
    for (int k = 0; k < steps; ++k) {
      if (on_stream) {
        s.compute.call("work", [cost] { work_for(cost); });
        co_await s.compute.done();
      } else {
        work_for(cost);
      }
      std::fill_n(out_.data(), 4, k);
      const auto sent = to_.send(out_, s.pack);
      co_await from_.recv(in_, s.unpack);
      co_await s.unpack.done();
      errors += in_.data()[3] != k;
      co_await sent;
      if (calls && k % 5 == 4) co_await ix::balance(*this);
    }
    contribute(errors, ix::sum);
  }
  int where() { return pe(); }

 private:
  ix::buffer<int> out_, in_;
  ix::channel<int> to_, from_;
};

/// 0 when the placement at the end is about even, 3 when it is not.
ix::task<int> quarter_is_dear(ix::runtime& rt, bool calls, bool on_stream) {
  constexpr int elements = 16;
  auto a = rt.create_array<worker>(ix::index1d(elements));
  a.broadcast<&worker::run>(40, calls, on_stream);
  const int errors = co_await a.reduction<int>();
  EXPECT_EQ(errors, 0);
  std::vector<int> cost(static_cast<std::size_t>(rt.num_pes()));
  int all = 0, most = 0;
  for (int i = 0; i < elements; ++i) {
    const int where = co_await a[i].call<&worker::where>();
    const int mine = i < elements / 4 ? 4 : 1;
    all += mine;
    most = std::max(most, cost[static_cast<std::size_t>(where)] += mine);
  }
  const double efficiency = double(all) / (most * rt.num_pes());
  const ix::balance_summary s = rt.balancing();
  EXPECT_GT(s.num_rounds, 0u);
  EXPECT_GT(s.num_moves, 0u);
  co_return efficiency > placed_efficiency + 0.1 ? 0 : 3;
}

/// What is measured is the time that passes, also while the machine does something else: where its cores are wanted by
/// others one run tells nothing.
void expect_even_at_last(const std::function<int()>& run) {
  int code = 3;
  for (int attempt = 0; attempt < 10 && code == 3; ++attempt) code = run();
  EXPECT_EQ(code, 0);
}

int run_balanced(const job_shape& s, const std::string& strategy, std::vector<std::string> more, auto start,
                 auto... extra) {
  more.push_back("--imbrex-balance=" + strategy);
  command_line line(s, more);
  return ix::run(line.count(), line.values(), start, extra...);
}

TEST(live_balance, evens_out_at_a_call) {
  for (const char* strategy : {"greedy", "refine", "hierarchical", "rcb", "sfc"}) {
    for (const bool on_stream : {false, true}) {
      SCOPED_TRACE(strategy);
      expect_even_at_last([&] {
        return run_balanced({2, 1}, strategy, {"--imbrex-balance-every-ms=0"}, quarter_is_dear, true, on_stream);
      });
    }
  }
}

/// A thread that wakes others up after 30 ms each.
class alarm_clock {
 public:
  ~alarm_clock() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  void wake(ix::completion& c) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back({clock::now() + std::chrono::milliseconds(30), &c});
    }
    changed_.notify_one();
  }

 private:
  using clock = std::chrono::steady_clock;
  struct sleeper {
    clock::time_point until;
    ix::completion* of;
  };

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const sleeper s = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      std::this_thread::sleep_until(s.until);
      s.of->set();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<sleeper> waiting_;
  bool ends_ = false;
  std::thread thread_{&alarm_clock::run, this};
};

alarm_clock* alarm_of_the_job = nullptr;

/// Waits for something outside nearly all the time. Where the machine lets it not go on in the little that it works,
/// that is measured, too.
struct sleeper : ix::chare<sleeper, ix::index1d> {
  ix::task<> run(int steps, int worked_us) {
    for (int k = 0; k < steps; ++k) {
      ix::completion woken;
      alarm_of_the_job->wake(woken);
      co_await woken;
      work_for(index() < 2 ? worked_us : worked_us / 10);
    }
    contribute(0, ix::sum);
  }
};

ix::task<int> plans_of_sleepers(ix::runtime& rt, int worked_us) {
  alarm_clock alarm;
  alarm_of_the_job = &alarm;
  auto a = rt.create_array<sleeper>(ix::index1d(4));
  a.broadcast<&sleeper::run>(25, worked_us);
  co_await a.reduction<int>();
  const ix::balance_summary s = rt.balancing();
  EXPECT_GT(s.num_rounds, 3u);
  co_return s.num_plans == 0 ? 0 : 3;
}

/// The two dear ones are on PE 0; nobody is busy for a twentieth of the time, so nobody waits for them.
TEST(live_balance, leaves_a_job_alone_that_waits_for_something_else) {
  expect_even_at_last(
      [] { return run_balanced({2, 1}, "greedy", {"--imbrex-balance-every-ms=20"}, plans_of_sleepers, 50); });
}
TEST(live_balance, sees_to_the_same_job_when_it_works) {
  expect_even_at_last([] {
    return run_balanced({2, 1}, "greedy", {"--imbrex-balance-every-ms=20"}, plans_of_sleepers, 12000) == 3 ? 0 : 3;
  });
}

/// Is told to move, and cannot: others may write to its memory.
struct exposed_worker : ix::chare<exposed_worker, ix::index1d> {
  exposed_worker() : memory(on_host(), 8), bound(memory, on_host()) {}
  ix::task<> run(int steps) {
    for (int k = 0; k < steps; ++k) {
      work_for(index() < 2 ? 800 : 100);
      co_await proxy().call<&exposed_worker::nothing>();
    }
    contribute(0, ix::sum);
  }
  void nothing() {}
  ix::buffer<int> memory;
  ix::exposed<int> bound;
};

TEST(live_balance, does_not_plan_again_and_again_what_cannot_be_done) {
  EXPECT_EQ(run_balanced({2, 1}, "greedy", {"--imbrex-balance-every-ms=5"},
                         [](ix::runtime& rt) -> ix::task<int> {
                           auto a = rt.create_array<exposed_worker>(ix::index1d(4));
                           a.broadcast<&exposed_worker::run>(300);
                           co_await a.reduction<int>();
                           const ix::balance_summary s = rt.balancing();
                           EXPECT_GT(s.num_rounds, 20u);
                           EXPECT_EQ(s.num_moved, 0u);
                           EXPECT_GT(s.num_plans, 0u);
                           // After a plan of which nothing moves there is none for eight looks.
                           EXPECT_LE(s.num_plans, s.num_rounds / 9 + 1);
                           co_return 0;
                         }),
            0);
}

/// Of two PEs the second is half as fast.
struct uneven_core : ix::chare<uneven_core, ix::index1d> {
  ix::task<> run(int steps) {
    for (int k = 0; k < steps; ++k) {
      work_for(pe() == 1 ? 400 : 200);
      if (k % 5 == 4) co_await ix::balance(*this);
    }
    contribute(pe() == 0 ? 1 : 0, ix::sum);
  }
};

/// 0 when the fast one has about two thirds of twelve.
TEST(live_balance, gives_a_slow_pe_less) {
  for (const char* strategy : {"greedy", "refine"}) {
    SCOPED_TRACE(strategy);
    expect_even_at_last([&] {
      return run_balanced({2, 1}, strategy, {"--imbrex-balance-every-ms=0", "--imbrex-balance-rates=1,0.5"},
                          [](ix::runtime& rt) -> ix::task<int> {
                            auto a = rt.create_array<uneven_core>(ix::index1d(12));
                            a.broadcast<&uneven_core::run>(20);
                            const int fast = co_await a.reduction<int>();
                            co_return fast >= 7 && fast <= 9 ? 0 : 3;
                          });
    });
  }
}

TEST(live_balance, refuses_rates_of_other_numbers_of_pes) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_balanced({2, 2}, "greedy", {"--imbrex-balance-rates=1,0.5"},
                         [](ix::runtime&) -> ix::task<int> { co_return 0; }),
            2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("has 2 numbers, and the job 4 PEs"));
}

/// Is nowhere in space.
struct bystander : ix::chare<bystander> {
  int see(int what) { return what; }
};

ix::task<int> beside_a_singleton(ix::runtime& rt) {
  const auto other = rt.create<bystander>();
  const int seen = co_await other.call<&bystander::see>(7);
  EXPECT_EQ(seen, 7);
  auto all = quarter_is_dear(rt, true, false);
  co_return co_await std::move(all);
}

TEST(live_balance, goes_by_places_though_some_elements_have_none) {
  for (const char* strategy : {"rcb", "sfc"}) {
    SCOPED_TRACE(strategy);
    expect_even_at_last(
        [&] { return run_balanced({2, 1}, strategy, {"--imbrex-balance-every-ms=0"}, beside_a_singleton); });
  }
}

TEST(live_balance, evens_out_by_itself) {
  for (const char* strategy : {"greedy", "refine", "diffusion"}) {
    SCOPED_TRACE(strategy);
    expect_even_at_last(
        [&] { return run_balanced({2, 1}, strategy, {"--imbrex-balance-every-ms=8"}, quarter_is_dear, false, true); });
  }
}

// The channels of a ring go between the processes: each is balanced by itself, as far as its own elements allow.
ix::task<int> dear_ones_on_two_ranks(ix::runtime& rt) {
  auto a = rt.create_array<worker>(ix::index1d(12));
  a.broadcast<&worker::run>(12, true, true);
  const int errors = co_await a.reduction<int>();
  EXPECT_EQ(errors, 0);
  EXPECT_GT(rt.balancing().num_rounds, 0u);
  co_return 0;
}

TEST(live_balance, leaves_elements_that_cannot_cross_in_their_process) {
  EXPECT_EQ(run_balanced({2, 2}, "greedy", {"--imbrex-balance-every-ms=5"}, dear_ones_on_two_ranks), 0);
}

/// As `free_worker`, without a `serialize`.
struct heavy_worker : ix::chare<heavy_worker, ix::index2d> {
  void start(int times, int us) {
    work_for(index().y == 0 ? 4 * us : us);
    if (times > 1) proxy().send<&heavy_worker::start>(times - 1, us);
  }
  int where() { return pe(); }
};

// Coherent objects are of a PE: what leaves it is serialised.
ix::task<int> beside_objects(ix::runtime& rt) {
  ix::hetero_object<int> known(1);
  auto a = rt.create_array<heavy_worker>(ix::index2d{2, 8});
  a.broadcast<&heavy_worker::start>(60, 100);
  co_await rt.quiescence();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(co_await a[ix::index2d(i, 0)].call<&heavy_worker::where>(), 0);
  EXPECT_GT(rt.balancing().num_rounds, 0u);
  co_return 0;
}

TEST(live_balance, leaves_elements_alone_that_would_have_to_be_serialised) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_balanced({1, 2}, "greedy", {"--imbrex-balance-every-ms=5"}, beside_objects), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("heavy_worker where they are: in a process with several GPUs"));
}

/// Nothing that could not cross processes.
struct free_worker : ix::chare<free_worker, ix::index2d> {
  void work(int us) {
    work_for(index().y == 0 ? 4 * us : us);
    if (--left_ > 0) proxy().send<&free_worker::work>(us);
  }
  void start(int times, int us) {
    left_ = times;
    proxy().send<&free_worker::work>(us);
  }
  int where() { return pe(); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & left_;
  }

 private:
  int left_ = 0;
};

ix::task<int> over_processes(ix::runtime& rt) {
  auto a = rt.create_array<free_worker>(ix::index2d{2, 8});
  a.broadcast<&free_worker::start>(60, 100);
  co_await rt.quiescence();
  EXPECT_GT(rt.balancing().num_moves, 0u);
  co_return 0;
}

TEST(live_balance, moves_elements_between_processes) {
  EXPECT_EQ(run_balanced({1, 2}, "greedy", {"--imbrex-balance-every-ms=5"}, over_processes), 0);
  EXPECT_EQ(run_balanced({2, 3}, "greedy", {"--imbrex-balance-every-ms=5"}, over_processes), 0);
}

ix::task<int> barrier_only(ix::runtime& rt) {
  auto a = rt.create_array<worker>(ix::index1d(4));
  a.broadcast<&worker::run>(10, true, false);
  const int errors = co_await a.reduction<int>();
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(rt.balancing().num_rounds, 0u);
  co_return 0;
}

TEST(live_balance, is_a_barrier_where_nobody_asked_for_it) {
  for (const job_shape& s : {job_shape{2, 1}, {1, 2}, {5, 1, 3}})
    EXPECT_EQ(imbrex_test::run_job_with(s, barrier_only), 0);
}

TEST(live_balance, writes_what_it_measured) {
  const std::string file = testing::TempDir() + "live_balance_record.jsonl";
  EXPECT_NE(run_balanced({2, 1}, "greedy", {"--imbrex-balance-every-ms=0", "--imbrex-balance-record=" + file},
                         quarter_is_dear, true, true),
            70);
  ix::balance_record_reader reader(file);
  int rounds = 0;
  while (const auto record = reader.next()) {
    ++rounds;
    EXPECT_EQ(record->problem.elements.size(), 16u);
    EXPECT_EQ(record->problem.pes.size(), 2u);
    EXPECT_EQ(record->problem.num_dimensions, 1);
  }
  EXPECT_GE(rounds, 8);
}

/// Of a user's own, with a mistake.
struct mistaken : ix::balance_strategy {
  enum mistake { wrong_plan, throws_an_exception, throws_a_number };
  explicit mistaken(mistake m) : made(m) {}
  ix::balance_plan plan(const ix::balance_problem& p) const override {
    if (made == throws_an_exception) throw std::runtime_error("my strategy failed");
    if (made == throws_a_number) throw 5;
    ix::balance_plan plan;
    plan.moves.push_back({static_cast<int>(p.elements.size()) - 1, 77});
    return plan;
  }
  mistake made;
};

ix::task<int> goes_on(ix::runtime& rt) {
  auto a = rt.create_array<worker>(ix::index1d(4));
  a.broadcast<&worker::run>(10, true, false);
  const int errors = co_await a.reduction<int>();
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(rt.balancing().num_moves, 0u);
  co_return 0;
}

TEST(live_balance, by_a_plan_that_cannot_be_carried_out_is_a_warning_that_names_strategy_and_mistake) {
  ix::register_strategy("to_pe_77", [] { return std::make_unique<mistaken>(mistaken::wrong_plan); });
  ix::register_strategy("that_throws", [] { return std::make_unique<mistaken>(mistaken::throws_an_exception); });
  ix::register_strategy("that_throws_5", [] { return std::make_unique<mistaken>(mistaken::throws_a_number); });
  ix::register_strategy("of_nothing", [] { return nullptr; });
  for (const job_shape& s : {job_shape{2, 1}, {2, 2}}) {
    SCOPED_TRACE(to_text(s));
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_balanced(s, "to_pe_77", {"--imbrex-balance-every-ms=0"}, goes_on), 0);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(testing::HasSubstr("'to_pe_77'"), testing::HasSubstr("to PE 77")));
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_balanced(s, "that_throws", {"--imbrex-balance-every-ms=0"}, goes_on), 0);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(testing::HasSubstr("'that_throws'"), testing::HasSubstr("my strategy failed")));
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_balanced(s, "that_throws_5", {"--imbrex-balance-every-ms=0"}, goes_on), 0);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(testing::HasSubstr("warning"), testing::HasSubstr("'that_throws_5'")));
  }
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_balanced({2, 1}, "of_nothing", {}, goes_on), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("'of_nothing'"));
}

TEST(live_balance, by_an_unknown_strategy_is_an_error_that_lists_the_known_ones) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_balanced({1, 1}, "gready", {}, barrier_only), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::HasSubstr("--imbrex-balance=gready"), testing::HasSubstr("greedy")));
}

}  // namespace

}  // namespace live_balance_test
