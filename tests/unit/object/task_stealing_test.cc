#include <gtest/gtest.h>

#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "imbrex/base/clock.h"
#include "job.h"

namespace ix = imbrex;
using namespace imbrex_test;

namespace {

using numbers = ix::hetero_object<std::uint64_t>;

void take_time(std::int64_t microseconds) {
  const std::int64_t until = ix::now_ns() + microseconds * 1000;
  while (ix::now_ns() < until) std::this_thread::yield();
}

ix::task<int> many_tasks_of_one_chare(ix::runtime&) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
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
    ix::hetero_task failing;
    for (int t = 0; t < num_tasks; ++t) {
      const std::size_t a = random() % 8;
      const std::size_t b = (a + 1 + random() % 7) % 8;
      expected[b] = expected[b] * 31 + expected[a];
      auto mix = [](std::span<const std::uint64_t> x, std::span<std::uint64_t> y) {
        for (std::size_t k = 0; k < y.size(); ++k) y[k] = y[k] * 31 + x[k];
      };
      submit({}, mix, objects[a], objects[b]);
      if (t % 1000 == 7) failing = ix::submit({}, [] { throw ix::usage_error("on purpose"); });
    }
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      auto access = objects[i].host(ix::access_mode::read);
      const auto view = co_await access;
      if (view[3] != expected[i]) ++wrong;
    }
    try {
      co_await failing;
      ++wrong;
    } catch (const ix::usage_error&) {
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

TEST(task_stealing, gives_the_same_results) { run_over_all_shapes(graphs_everywhere); }

}  // namespace
