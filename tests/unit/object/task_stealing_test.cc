#include <gtest/gtest.h>

#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "imbrex/base/clock.h"
#include "job.h"

namespace task_stealing_test {

namespace ix = imbrex;
using namespace imbrex_test;

namespace {

using numbers = ix::hetero_object<std::uint64_t>;

void take_time(std::int64_t microseconds) {
  const std::int64_t until = ix::now_ns() + microseconds * 1000;
  while (ix::now_ns() < until) std::this_thread::yield();
}

/// 200 tasks of 0.1 ms each, and who ran them.
ix::task<> many_tasks(std::set<std::thread::id>& threads) {
  std::mutex mutex;
  numbers sum(100);
  std::vector<numbers> parts;
  for (std::uint64_t i = 0; i < 200; ++i) {
    parts.emplace_back(std::size_t{100});
    auto fill = [&mutex, &threads, i](std::span<std::uint64_t> v) {
      take_time(100);
      std::fill(v.begin(), v.end(), i);
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    };
    submit({}, fill, write(parts.back()));
  }
  submit({}, [](std::span<std::uint64_t> s) { std::fill(s.begin(), s.end(), 0); }, write(sum));
  for (const numbers& p : parts) {
    auto add = [](std::span<std::uint64_t> s, std::span<const std::uint64_t> v) {
      for (std::size_t k = 0; k < s.size(); ++k) s[k] += v[k];
    };
    submit({}, add, sum, p);
  }
  auto access = sum.host(ix::access_mode::read);
  const auto view = co_await access;
  for (const std::uint64_t s : view) EXPECT_EQ(s, 199U * 200 / 2);
}

ix::task<int> many_tasks_of_one_chare(ix::runtime&) {
  std::set<std::thread::id> threads;
  // Once more where the machine had no core for the others just then.
  for (int attempt = 0; attempt < 50 && threads.size() < 2; ++attempt) {
    ix::task<> tasks = many_tasks(threads);
    co_await std::move(tasks);
  }
  EXPECT_GT(threads.size(), 1);
  co_return 0;
}

TEST(task_stealing, other_pes_run_what_one_has_submitted) {
  EXPECT_EQ(run_job_with({2, 1}, many_tasks_of_one_chare), 0);
  EXPECT_EQ(run_job_with({4, 1}, many_tasks_of_one_chare), 0);
}

/// Each makes a graph of its own; all at once.
struct grapher : ix::chare<grapher, ix::index1d> {
  ix::task<std::uint64_t> run(int num_tasks) {
    std::mt19937 random(static_cast<unsigned>(index().x) + 1);
    std::vector<numbers> objects;
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = 0; i < 8; ++i) {
      objects.emplace_back(std::size_t{4});
      expected.push_back(i);
      submit({}, [i](std::span<std::uint64_t> v) { std::fill(v.begin(), v.end(), i); }, write(objects.back()));
    }
    std::vector<ix::hetero_task> failing;
    for (int t = 0; t < num_tasks; ++t) {
      const std::size_t a = random() % 8;
      const std::size_t b = (a + 1 + random() % 7) % 8;
      expected[b] = expected[b] * 31 + expected[a];
      auto mix = [](std::span<const std::uint64_t> x, std::span<std::uint64_t> y) {
        for (std::size_t k = 0; k < y.size(); ++k) y[k] = y[k] * 31 + x[k];
      };
      submit({}, mix, objects[a], objects[b]);
      if (t % 1000 == 7) failing.push_back(ix::submit({}, [] { throw ix::usage_error("on purpose"); }));
    }
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      auto access = objects[i].host(ix::access_mode::read);
      const auto view = co_await access;
      if (view[3] != expected[i]) ++wrong;
    }
    for (const ix::hetero_task& t : failing) {
      try {
        co_await t;
        ++wrong;
      } catch (const ix::usage_error&) {
      }
    }
    co_return wrong;
  }
};

ix::task<int> graphs_everywhere(ix::runtime& rt) {
  auto all = rt.create_array<grapher>(ix::index1d(2 * rt.num_pes()));
  std::uint64_t wrong = 0;
  for (int i = 0; i < 2 * rt.num_pes(); ++i) {
    const std::uint64_t n = co_await all[i].call<&grapher::run>(3000);
    wrong += n;
  }
  EXPECT_EQ(wrong, 0);
  co_return 0;
}

/// x[i] counts the steps from 0; one that was left out, or came twice, shows.
void count_one_group(const ix::cpu_group& g, void* const* arguments) {
  const int step = *static_cast<int*>(arguments[0]);
  int* const x = *static_cast<int**>(arguments[1]);
  for (int i = g.ids[0] * g.items[0]; i < (g.ids[0] + 1) * g.items[0]; ++i) {
    x[i] = step == 0 ? 0 : x[i] == step - 1 ? step : -1'000'000;
  }
}
constexpr ix::kernel<void(int, int*)> count_items("count_items", {&count_one_group}, nullptr, nullptr);

std::mutex who_mutex;
std::set<std::thread::id> who;

void slow_group(const ix::cpu_group& g, void* const* arguments) {
  take_time(50);
  int* const x = *static_cast<int**>(arguments[0]);
  for (int i = g.ids[0] * g.items[0]; i < (g.ids[0] + 1) * g.items[0]; ++i) x[i] = i;
  const std::lock_guard lock(who_mutex);
  who.insert(std::this_thread::get_id());
}
constexpr ix::kernel<void(int*)> slow_groups("slow_groups", {&slow_group}, nullptr, nullptr);

void throwing_group(const ix::cpu_group& g, void* const*) {
  if (g.ids[0] % 3 == 0) throw ix::usage_error("on purpose");
}
constexpr ix::kernel<void(int*)> throwing_groups("throwing_groups", {&throwing_group}, nullptr, nullptr);

ix::task<int> kernels_of_many_groups(ix::runtime&) {
  constexpr int n = 1 << 18;
  ix::hetero_object<int> times(n);
  ix::submit({}, count_items, ix::launch_shape::over(n, 64), 0, write(times));
  for (int i = 1; i <= 20; ++i) ix::submit({}, count_items, ix::launch_shape::over(n, 64), i, times);
  auto access = times.host(ix::access_mode::read);
  const auto view = co_await access;
  for (const int t : view) {
    if (t != 20) co_return 1;
  }
  co_return 0;
}

TEST(task_stealing, pes_share_the_groups_of_a_kernel) { run_over_all_shapes(kernels_of_many_groups); }

ix::task<int> one_slow_kernel(ix::runtime&) {
  who.clear();
  ix::hetero_object<int> x(1 << 16);
  // Once more where the machine had no core for the others just then.
  for (int attempt = 0; attempt < 50 && who.size() < 2; ++attempt) {
    ix::submit({}, slow_groups, ix::launch_shape::over(1 << 16, 256), write(x));
    auto access = x.host(ix::access_mode::read);
    const auto view = co_await access;
    for (std::size_t i = 0; i < view.size(); ++i) {
      if (view[i] != static_cast<int>(i)) co_return 1;
    }
  }
  EXPECT_GT(who.size(), 1) << "one PE ran all groups, each time";
  co_return 0;
}

ix::task<int> a_kernel_that_throws(ix::runtime&) {
  for (int i = 0; i < 50; ++i) {
    ix::hetero_object<int> x(1 << 16);
    const ix::hetero_task t = ix::submit({}, throwing_groups, ix::launch_shape::over(1 << 16, 256), write(x));
    const ix::hetero_task reader = submit({}, [](std::span<const int>) {}, x);
    int failures = 0;
    try {
      co_await t;
    } catch (const ix::usage_error&) {
      ++failures;
    }
    try {
      co_await reader;
    } catch (const ix::usage_error&) {
      ++failures;
    }
    if (failures != 2) co_return 1;
  }
  co_return 0;
}

TEST(task_stealing, a_part_that_throws_fails_the_task_once) { run_over_all_shapes(a_kernel_that_throws); }

TEST(task_stealing, several_pes_run_one_kernel) {
  EXPECT_EQ(run_job_with({2, 1}, one_slow_kernel), 0);
  EXPECT_EQ(run_job_with({4, 1}, one_slow_kernel), 0);
}

TEST(task_stealing, gives_the_same_results) { run_over_all_shapes(graphs_everywhere); }

}  // namespace

}  // namespace task_stealing_test
