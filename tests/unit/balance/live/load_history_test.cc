#include "imbrex/balance/live/load_history.h"

#include <gtest/gtest.h>

#include <cmath>

#include "imbrex/base/hash.h"
#include "imbrex/base/serialize.h"

namespace imbrex {
namespace load_history_test {
namespace {

element_loads two_elements(std::int64_t host_a, std::int64_t host_b, std::int64_t gpu_b = 0) {
  element_loads l;
  l.all.resize(2);
  l.all[0].identity = 11;
  l.all[0].pe = 0;
  l.all[0].host_ns = host_a;
  l.all[1].identity = 22;
  l.all[1].pe = 1;
  l.all[1].host_ns = host_b;
  l.all[1].gpu_ns = gpu_b;
  l.pes = {{.pe = 0, .interval_ns = 1'000'000}, {.pe = 1, .interval_ns = 1'000'000}};
  return l;
}

TEST(load_history, averages_chance_out) {
  load_history h;
  random_sequence chance(5);
  double raw = 0, smoothed = 0;
  for (int look = 0; look < 400; ++look) {
    const std::int64_t a = 100'000 + static_cast<std::int64_t>(chance.next() % 20'000) - 10'000;
    element_loads l = two_elements(a, 200'000);
    h.smooth(l);
    if (look < 20) continue;
    raw += std::pow(static_cast<double>(a - 100'000), 2);
    smoothed += std::pow(static_cast<double>(l.all[0].host_ns - 100'000), 2);
  }
  EXPECT_LT(smoothed, raw / 4) << "a weight of a quarter leaves a seventh of the variance";
}

TEST(load_history, a_change_counts_at_once_wherever_the_element_is) {
  load_history h;
  for (int look = 0; look < 30; ++look) {
    element_loads l = two_elements(100'000 + look % 2 * 4'000, 50'000, 70'000 + look % 3 * 2'000);
    h.smooth(l);
  }
  element_loads l = two_elements(400'000, 50'000, 300'000);
  l.all[0].pe = 1;  // where it has moved to
  h.smooth(l);
  EXPECT_EQ(l.all[0].host_ns, 400'000);
  EXPECT_EQ(l.all[1].gpu_ns, 300'000);
  EXPECT_NEAR(static_cast<double>(l.all[1].host_ns), 50'000, 1);
}

TEST(load_history, goes_on_after_it_was_kept) {
  load_history before;
  for (int look = 0; look < 10; ++look) {
    element_loads l = two_elements(100'000 + look * 700, 200'000);
    before.smooth(l);
  }
  load_history after;
  from_bytes(to_bytes(before), after);
  EXPECT_EQ(after.size(), 2u);
  element_loads expected = two_elements(104'000, 200'500), l = expected;
  before.smooth(expected);
  after.smooth(l);
  EXPECT_EQ(l.all[0].host_ns, expected.all[0].host_ns);
  EXPECT_NE(l.all[0].host_ns, 104'000) << "one that has learnt nothing takes what was measured";
}

TEST(load_history, knows_shares_of_intervals_of_any_length) {
  load_history h;
  for (int look = 0; look < 10; ++look) {
    element_loads l = two_elements(100'000, 200'000);
    h.smooth(l);
  }
  element_loads l = two_elements(200'000, 400'000);
  for (measured_pe& p : l.pes) p.interval_ns = 2'000'000;
  h.smooth(l);
  EXPECT_EQ(l.all[0].host_ns, 200'000);
  EXPECT_EQ(l.all[1].host_ns, 400'000);
}

TEST(load_history, forgets_elements_that_are_gone) {
  load_history h;
  element_loads both = two_elements(1000, 1000);
  h.smooth(both);
  EXPECT_EQ(h.size(), 2u);
  for (int look = 0; look < 10; ++look) {
    element_loads one = two_elements(1000, 1000);
    one.all.pop_back();
    h.smooth(one);
  }
  EXPECT_EQ(h.size(), 1u);
}

// Two PEs that share a GPU and took samples of different lengths: what counts is the time in which both did.
TEST(element_loads, share_gpus_out_by_what_all_pes_saw) {
  element_loads a = two_elements(10, 0), b;
  a.all.pop_back();
  a.pes.pop_back();
  a.pes[0].gpu = 5;
  b.all.resize(1);
  b.all[0].pe = 1;
  b.pes = {{.pe = 1, .gpu = 5, .interval_ns = 1'000'000}};
  // By turns: 100 of the first element, 300 of the second; the second PE's sample goes on for twice as long.
  gpu_operations of_a{5, {}}, of_b{5, {}};
  for (std::int64_t t = 0; t < 8000; t += 400) {
    if (t < 4000) of_a.all.push_back({t, t + 100, 0});
    of_b.all.push_back({t, t + 400, 0});
  }
  a.operations.push_back(of_a);
  b.operations.push_back(of_b);
  a += std::move(b);
  ASSERT_EQ(a.all.size(), 2u);
  share_gpus_out(a);
  EXPECT_NEAR(static_cast<double>(a.all[0].gpu_ns), 250'000, 25'000);
  EXPECT_NEAR(static_cast<double>(a.all[1].gpu_ns), 750'000, 25'000);
  EXPECT_TRUE(a.operations.empty());
}

}  // namespace
}  // namespace load_history_test
}  // namespace imbrex
