#include "imbrex/hetero/windows/device_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace device_plan_test {

using namespace imbrex;

namespace {

using use = window_jobs::use;

window_jobs of_devices(int num_devices, std::size_t num_objects, double ns_to_move) {
  window_jobs w;
  w.num_devices = num_devices;
  w.ns_to_move.assign(num_objects, ns_to_move);
  return w;
}

void add(window_jobs& w, double ns, std::vector<use> uses, std::uint64_t may_run_on = ~std::uint64_t{0}) {
  w.jobs.push_back({ns, may_run_on, std::move(uses), {}});
}

use changes(std::size_t object) { return {static_cast<std::uint32_t>(object), access_mode::read_write}; }
use overwrites(std::size_t object) { return {static_cast<std::uint32_t>(object), access_mode::write}; }
use looks_at(std::size_t object) { return {static_cast<std::uint32_t>(object), access_mode::read}; }

/// Two steps of a line of parts, each of which reads its neighbours' edges: objects are the parts, then two edges each.
window_jobs line(int num_devices, std::size_t num_parts, double ns, double ns_to_move_edge, double ns_to_move_part) {
  window_jobs w = of_devices(num_devices, 3 * num_parts, ns_to_move_edge);
  std::fill_n(w.ns_to_move.begin(), num_parts, ns_to_move_part);
  for (int step = 0; step < 2; ++step) {
    for (std::size_t i = 0; i < num_parts; ++i)
      add(w, ns / 20, {looks_at(i), overwrites(num_parts + 2 * i), overwrites(num_parts + 2 * i + 1)});
    for (std::size_t i = 0; i < num_parts; ++i) {
      std::vector<use> all{changes(i)};
      if (i > 0) all.push_back(looks_at(num_parts + 2 * (i - 1) + 1));
      if (i + 1 < num_parts) all.push_back(looks_at(num_parts + 2 * (i + 1)));
      add(w, ns, std::move(all));
    }
  }
  return w;
}

TEST(device_plan, what_has_nothing_to_do_with_each_other_is_shared_out) {
  window_jobs w = of_devices(4, 8, 1000);
  for (std::size_t i = 0; i < 8; ++i) add(w, 10, {changes(i)});
  const device_plan p = plan_over_devices(w);
  EXPECT_DOUBLE_EQ(p.ns, 20);
  for (std::uint8_t d = 0; d < 4; ++d) EXPECT_EQ(std::ranges::count(p.device_of, d), 2);
}

TEST(device_plan, a_chain_stays_where_it_is) {
  window_jobs w = of_devices(4, 1, 1000);
  for (int i = 0; i < 10; ++i) add(w, 10, {changes(0)});
  const device_plan p = plan_over_devices(w);
  EXPECT_DOUBLE_EQ(p.ns, 100);
  EXPECT_EQ(p.device_of, std::vector<std::uint8_t>(10, p.device_of[0]));
}

TEST(device_plan, neighbours_stay_together_where_edges_are_dear) {
  const window_jobs w = line(4, 16, 100, 40, 5000);
  const device_plan p = plan_by_levels(w);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(p.device_of[16 + i], i / 4);
  EXPECT_LT(p.ns, 0.4 * expected_ns(w, std::vector<std::uint8_t>(w.jobs.size(), 0)));
  EXPECT_LE(plan_over_devices(w).ns, p.ns);
}

TEST(device_plan, the_longest_way_comes_first) {
  // Two levels in which equal shares leave the long way for later: 1 + 1 and 8 of each level, then 8 that depends on 8.
  window_jobs w = of_devices(2, 4, 1);
  for (std::size_t i = 0; i < 3; ++i) add(w, 4, {changes(i)});
  add(w, 12, {changes(3)});
  add(w, 12, {changes(3)});
  const device_plan p = plan_by_rank(w);
  EXPECT_DOUBLE_EQ(p.ns, 24);
  EXPECT_EQ(p.device_of[3], p.device_of[4]);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NE(p.device_of[i], p.device_of[3]);
}

TEST(device_plan, jobs_run_only_where_they_may) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    window_jobs w = of_devices(3, 5, static_cast<double>(random() % 50));
    for (std::uint32_t i = 0; i < 30; ++i) {
      add(w, 1 + static_cast<double>(random() % 20), {looks_at(random() % 5), changes(random() % 5)}, 1 + random() % 7);
      if (i > 0 && random() % 4 == 0) w.jobs.back().after.push_back(static_cast<std::uint32_t>(random() % i));
    }
    double sum = 0;
    for (const window_jobs::job& j : w.jobs) sum += j.ns;
    for (const device_plan& p : {plan_by_rank(w), plan_by_levels(w), plan_over_devices(w)}) {
      ASSERT_EQ(p.device_of.size(), w.jobs.size());
      for (std::size_t i = 0; i < w.jobs.size(); ++i) ASSERT_TRUE(w.jobs[i].may_run_on >> p.device_of[i] & 1);
      EXPECT_GE(p.ns * 3, sum);
      EXPECT_DOUBLE_EQ(p.ns, expected_ns(w, p.device_of));
    }
  }
}

}  // namespace

}  // namespace device_plan_test
