#include "imbrex/balance/live/device_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace imbrex {
namespace device_shares_test {
namespace {

/// A device that runs what the streams of `costs.size()` elements have for it one after the other, as they come:
/// element k enqueues an operation of costs[k] at once, and the next when its last has ended. `idle`: what each waits
/// before.
std::vector<timed_operation> one_after_the_other(const std::vector<std::int64_t>& costs, std::int64_t idle,
                                                 int rounds) {
  std::vector<timed_operation> all;
  std::vector<std::int64_t> ready(costs.size(), 0);
  std::int64_t free_at = 0;
  for (int n = 0; n < rounds * static_cast<int>(costs.size()); ++n) {
    const auto next = static_cast<std::size_t>(std::ranges::min_element(ready) - ready.begin());
    const std::int64_t start = std::max(ready[next], free_at);
    free_at = start + costs[next];
    all.push_back({ready[next], free_at, static_cast<std::uint32_t>(next)});
    ready[next] = free_at + idle;
  }
  return all;
}

TEST(device_shares, are_what_operations_ran_not_what_they_waited) {
  const std::vector<std::int64_t> costs = {100, 100, 400, 100};
  auto all = one_after_the_other(costs, 0, 50);
  std::vector<std::int64_t> expected(4, 0), wall(4, 0);
  for (const timed_operation& o : all) {
    expected[o.whose] += costs[o.whose];
    wall[o.whose] += o.end_ns - o.begin_ns;
  }
  std::shuffle(all.begin(), all.end(), std::mt19937(3));
  const device_shares s = shares_of(all, 4);
  EXPECT_EQ(s.busy_ns, expected);
  EXPECT_EQ(s.all_ns, s.span_ns) << "it was never idle";
  EXPECT_LT(wall[2], 2 * wall[0]) << "walls hardly tell them apart: what this is for";
}

TEST(device_shares, leave_out_when_the_device_was_idle) {
  const std::vector<std::int64_t> costs = {100, 300};
  auto all = one_after_the_other(costs, 10000, 20);
  const device_shares s = shares_of(all, 2);
  EXPECT_EQ(s.all_ns, std::accumulate(s.busy_ns.begin(), s.busy_ns.end(), std::int64_t{0}));
  EXPECT_EQ(s.busy_ns[1], 3 * s.busy_ns[0]);
  EXPECT_LT(s.all_ns * 10, s.span_ns);
}

TEST(device_shares, count_no_moment_twice_where_operations_run_beside_each_other) {
  std::mt19937 random(7);
  for (int n = 0; n < 200; ++n) {
    std::vector<timed_operation> all;
    const auto pick = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(random); };
    for (std::int64_t k = 1 + pick(20); k > 0; --k) {
      const std::int64_t begin = pick(1000);
      all.push_back({begin, begin + pick(300), static_cast<std::uint32_t>(pick(4))});
    }
    // Nanosecond for nanosecond.
    std::int64_t busy = 0;
    for (std::int64_t t = 0; t < 1300; ++t)
      busy +=
          std::ranges::any_of(all, [t](const timed_operation& o) { return o.begin_ns <= t && t < o.end_ns; }) ? 1 : 0;
    const device_shares s = shares_of(all, 5);
    EXPECT_EQ(s.all_ns, busy);
    EXPECT_LE(busy, s.span_ns);
    EXPECT_EQ(s.all_ns, std::accumulate(s.busy_ns.begin(), s.busy_ns.end(), std::int64_t{0}));
  }
}

TEST(device_shares, of_nothing_are_none) {
  std::vector<timed_operation> none;
  const device_shares s = shares_of(none, 2);
  EXPECT_EQ(s.busy_ns, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(s.span_ns, 0);
}

}  // namespace
}  // namespace device_shares_test
}  // namespace imbrex
