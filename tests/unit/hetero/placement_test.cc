// Where the default policy has tasks run, with several devices in one domain.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "hetero_fixture.h"

using namespace imbrex;
using namespace imbrex_test;

namespace {

task<> await_all(std::vector<hetero_task> tasks) {
  for (const hetero_task& t : tasks) co_await t;
}

task<> write_first(hetero_object<double> x) {
  auto access = x.host(access_mode::write);
  auto view = co_await access;
  std::fill(view.begin(), view.end(), 1.0);
}

/// On a device: notes which, and adds what it reads to what it writes.
auto noted(std::vector<int>& where) {
  return [&where](stream& s, std::span<const double> a, std::span<double> c) {
    where.push_back(s.on().number());
    s.launch("noted", [a, c] {
      for (std::size_t i = 0; i < c.size(); ++i) c[i] += a[i];
    });
  };
}

TEST(placement, tasks_that_read_the_same_use_all_devices) {
  hetero_pe on(3);
  auto shared = on.object<double>(100);
  on.run(write_first(shared));
  std::vector<int> where;
  std::vector<hetero_object<double>> results;
  std::vector<hetero_task> tasks;
  for (int i = 0; i < 60; ++i) {
    results.push_back(on.object<double>(100));
    tasks.push_back(submit(*on.domain, {}, noted(where), shared, write(results.back())));
  }
  on.run(await_all(tasks));
  std::map<int, int> times;
  for (const int d : where) ++times[d];
  ASSERT_EQ(where.size(), 60U);
  for (int d = 0; d < 3; ++d) EXPECT_GE(times[d], 10) << "device " << d;
  EXPECT_LE(on.counts().bytes_to_devices + on.counts().bytes_between, 3 * 800U);  // the shared object, once to each
}

TEST(placement, a_chain_stays_where_it_is) {
  hetero_pe on(2);
  auto a = on.object<double>(100), c = on.object<double>(100);
  on.run(write_first(a));
  on.run(write_first(c));
  std::vector<int> where;
  std::vector<hetero_task> tasks;
  for (int i = 0; i < 200; ++i) tasks.push_back(submit(*on.domain, {}, noted(where), a, read_write(c)));
  on.run(await_all(tasks));
  ASSERT_EQ(where.size(), 200U);
  EXPECT_EQ(std::count(where.begin(), where.end(), where.front()), 200);
  EXPECT_EQ(on.counts().bytes_between, 0U);
}

TEST(placement, several_chains_are_dealt_over_the_devices) {
  hetero_pe on(2);
  auto a = on.object<double>(100);
  on.run(write_first(a));
  std::vector<int> where;
  std::vector<hetero_object<double>> c;
  std::vector<hetero_task> tasks;
  for (int i = 0; i < 40; ++i) {
    c.push_back(on.object<double>(100));
    tasks.push_back(submit(*on.domain, {}, noted(where), a, write(c.back())));
    for (int k = 0; k < 4; ++k) tasks.push_back(submit(*on.domain, {}, noted(where), a, read_write(c.back())));
  }
  on.run(await_all(tasks));
  ASSERT_EQ(where.size(), 200U);
  const auto on_first = std::count(where.begin(), where.end(), 0);
  EXPECT_GE(on_first, 50);
  EXPECT_LE(on_first, 150);
}

TEST(placement, no_device_is_given_what_does_not_fit_beside_what_it_has) {
  hetero_pe on(2, 1600);  // two objects on each
  auto a = on.object<double>(100), kept = on.object<double>(100);
  on.run(write_first(a));
  on.run(write_first(kept));
  std::vector<int> where;
  std::vector<hetero_task> tasks;
  for (int i = 0; i < 20; ++i) tasks.push_back(submit(*on.domain, {}, noted(where), a, read_write(kept)));
  on.run(await_all(tasks));
  EXPECT_EQ(on.counts().bytes_to_host, 0U);
}

}  // namespace
