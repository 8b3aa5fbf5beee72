#include <numeric>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"
#include "unit/hetero/open_use.h"

namespace eviction_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t mega = 1 << 20;

struct many_objects {
  many_objects(hetero_pe& on, int count) {
    for (int i = 0; i < count; ++i) {
      all.push_back(on.object<double>(mega / sizeof(double)));
      submit(*on.domain, {}, [i](std::span<double> v) { std::fill(v.begin(), v.end(), i); }, write(all.back()));
    }
    on.pe.run();
  }
  std::vector<hetero_object<double>> all;
};

auto sum_into(std::vector<double>& sums, std::size_t i) {
  return [&sums, i](stream& s, std::span<const double> v) {
    s.call("sum", [&sums, i, v] { sums[i] += v[0] + v[v.size() - 1]; });
  };
}

// 32 objects, room for 16, 10 rounds: in order 32 + 9 * 16 megabytes have to be moved (Belady), in any order 32.
TEST(eviction, in_free_order_moves_each_object_once) {
  hetero_pe on(1, 16 * mega);
  const many_objects objects(on, 32);
  std::vector<double> sums(32);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < 32; ++i) submit(*on.domain, {}, sum_into(sums, i), objects.all[i]);
  }
  on.pe.run();
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(sums[i], 20.0 * static_cast<double>(i));
  EXPECT_EQ(on.counts().bytes_moved(), 32 * mega);
}

TEST(eviction, in_order_keeps_what_is_needed_next) {
  hetero_options options;
  options.policy = "round_robin";  // does not change the order
  options.tasks_under_way = 1;
  hetero_pe on(1, 16 * mega, options);
  const many_objects objects(on, 32);
  std::vector<double> sums(32);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < 32; ++i) submit(*on.domain, {}, sum_into(sums, i), objects.all[i]);
  }
  on.pe.run();
  EXPECT_LE(on.counts().bytes_moved(), 176 * mega);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(sums[i], 20.0 * static_cast<double>(i));
}

TEST(eviction, writes_back_what_is_newer_than_the_host) {
  hetero_pe on(1, 4 * mega);
  const many_objects objects(on, 12);
  for (int round = 0; round < 3; ++round) {
    for (const auto& x : objects.all) submit(*on.domain, {}, add_on_device(1), x);
  }
  std::vector<double> seen;
  for (const auto& x : objects.all)
    submit(*on.domain, {}, [&seen](std::span<const double> v) { seen.push_back(v[7]); }, x);
  on.pe.run();
  ASSERT_EQ(seen.size(), 12);
  std::sort(seen.begin(), seen.end());
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(seen[i], static_cast<double>(i) + 3);
}

TEST(eviction, goes_to_a_device_with_room_before_the_host) {
  hetero_pe on(2, 4 * mega);
  const many_objects objects(on, 8);
  for (const auto& x : objects.all) submit(*on.domain, {.on = device_kind::host, .number = 0}, add_on_device(1), x);
  on.pe.run();
  EXPECT_EQ(on.counts().bytes_to_host, 0);
  EXPECT_EQ(on.counts().bytes_between, 4 * mega);
}

TEST(eviction, a_large_task_is_not_overtaken_for_ever) {
  hetero_pe on(1, 4 * mega);
  const many_objects objects(on, 6);
  const auto& x = objects.all;
  std::vector<double> sums(6);
  hetero_task large;
  for (int i = 0; i < 200; ++i) {
    submit(*on.domain, {}, sum_into(sums, i % 2), x[i % 2]);
    if (i != 20) continue;
    auto all_four = [](stream& s, std::span<double> a, std::span<const double> b, std::span<const double> c,
                       std::span<const double> d) { s.call("all four", [=] { a[0] = b[0] + c[0] + d[0]; }); };
    large = submit(*on.domain, {}, all_four, x[2], x[3], x[4], x[5]);
  }
  on.pe.run();
  EXPECT_TRUE(large.done());
  EXPECT_EQ(on.domain->num_outstanding(), 0);
}

TEST(eviction, forgets_objects_without_elements) {
  hetero_pe on(1);
  {
    const auto nothing = on.object<double>(0);
    submit(*on.domain, {}, [](stream&, double*) {}, write(nothing));
    on.pe.run();
  }
  EXPECT_EQ(on.domain->places()[1]->oldest, nullptr) << "what is gone is still in the list";
}

/// Overwrites on the host, and keeps the view.
task<> overwrite(hetero_object<double> x, host_view<double>* kept) {
  auto access = x.host(access_mode::write);
  auto view = co_await access;
  std::fill(view.begin(), view.end(), 7.0);
  *kept = std::move(view);
}

double last_of(hetero_pe& on, const hetero_object<double>& x) {
  double value = 0;
  submit(*on.domain, {}, [&value](std::span<const double> v) { value = v[v.size() - 1]; }, x);
  on.pe.run();
  return value;
}

TEST(eviction, saves_nothing_that_a_view_overwrites) {
  hetero_pe on(1);
  many_objects objects(on, 1);
  auto& x = objects.all[0];
  submit(*on.domain, {}, add_on_device(1), x);
  on.pe.run();
  host_view<double> view;
  on.run(overwrite(x, &view));
  x.evict();
  on.pe.run();
  EXPECT_EQ(on.domain->places()[1]->used(), 0);
  EXPECT_EQ(on.counts().bytes_to_host, 0);
  EXPECT_EQ(view[0], 7);
  view.release();
  EXPECT_EQ(last_of(on, x), 7);
}

TEST(eviction, for_lack_of_room_saves_nothing_that_a_view_overwrites) {
  hetero_pe on(1, mega);
  many_objects objects(on, 2);
  auto &x = objects.all[0], &y = objects.all[1];
  submit(*on.domain, {}, add_on_device(1), x);
  on.pe.run();
  host_view<double> view;
  on.run(overwrite(x, &view));
  submit(*on.domain, {}, add_on_device(1), y);
  on.pe.run();
  EXPECT_EQ(on.counts().bytes_to_host, 0);
  EXPECT_EQ(view[0], 7);
  view.release();
  EXPECT_EQ(last_of(on, x), 7);
  EXPECT_EQ(last_of(on, y), 2);
}

/// What is received at one device while an older copy leaves another one, which would go to the first.
TEST(eviction, saves_nothing_where_an_object_is_received) {
  hetero_pe on(2, 2 * mega);
  many_objects objects(on, 3);
  auto &x = objects.all[0], &y = objects.all[1], &z = objects.all[2];
  submit(*on.domain, {.on = device_kind::host, .number = 1}, add_on_device(1), x);
  on.pe.run();
  open_use received(*on.domain, *x.data(), access_mode::write);
  auto* const receive = received.task;
  submit(*on.domain, {.on = device_kind::host, .number = 0}, add_on_device(1), x);
  receive->let_go(true);
  on.pe.run();
  ASSERT_TRUE(received.told);
  ASSERT_TRUE(receive->opened);
  ASSERT_EQ(receive->at, on.domain->places()[1].get());
  receive->order->call(
      "receive", [to = reinterpret_cast<double*>(receive->memory)] { std::fill(to, to + mega / sizeof(double), 7.0); });
  submit(*on.domain, {.on = device_kind::host, .number = 1}, [](stream&, double*, double*) {}, y, z);
  on.pe.run();
  EXPECT_GT(on.counts().evictions, 0);
  EXPECT_EQ(on.counts().bytes_between, 0);
  receive->end();
  EXPECT_EQ(last_of(on, x), 8);
  EXPECT_EQ(last_of(on, z), 2);
}

}  // namespace

}  // namespace eviction_test
