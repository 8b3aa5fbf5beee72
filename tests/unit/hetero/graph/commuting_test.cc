#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <vector>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace commuting_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

using counts = std::span<std::uint64_t>;
using seen = std::span<const std::uint64_t>;

void set_to_zero(counts v) { std::ranges::fill(v, 0U); }

std::uint64_t first_of(hetero_pe& on, const hetero_object<std::uint64_t>& x) {
  std::uint64_t value = 0;
  submit(*on.domain, {}, [&value](seen v) { value = v[0]; }, x);
  on.pe.run();
  return value;
}

TEST(commuting, tasks_run_in_any_order_behind_what_came_before_and_before_what_comes_after) {
  hetero_pe on;
  auto x = on.object<std::uint64_t>(1);
  std::vector<int> order;
  const auto note = [&order](int number) { return [&order, number](counts) { order.push_back(number); }; };
  submit(*on.domain, {}, note(0), write(x));
  submit(*on.domain, {.priority = 1}, note(1), commute(x));
  submit(*on.domain, {.priority = 2}, note(2), commute(x));
  submit(*on.domain, {.priority = 3}, note(3), commute(x));
  submit(*on.domain, {.priority = 9}, [&order](seen) { order.push_back(4); }, x);
  submit(*on.domain, {.priority = 8}, [&order](seen) { order.push_back(5); }, x);
  submit(*on.domain, {.priority = 10}, note(6), commute(x));
  submit(*on.domain, {.priority = 11}, note(7), commute(x));
  submit(*on.domain, {.priority = 20}, note(8), x);
  on.pe.run();
  // Whose turn it is is decided when they could run; then the more urgent one goes first.
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 3, 2, 4, 5, 6, 7, 8));
}

TEST(commuting, one_is_not_kept_by_another_that_waits_for_something_else) {
  hetero_pe on;
  auto x = on.object<std::uint64_t>(1), y = on.object<std::uint64_t>(1);
  submit(*on.domain, {}, set_to_zero, write(x));
  submit(*on.domain, {}, set_to_zero, write(y));
  auto held = y.host(access_mode::read_write);
  bool first = false, second = false;
  submit(*on.domain, {}, [&](counts, seen) { first = true; }, commute(x), y);
  submit(*on.domain, {}, [&](counts) { second = true; }, commute(x));
  on.pe.run();
  EXPECT_FALSE(first);
  EXPECT_TRUE(second);
  EXPECT_TRUE(held.ready());
  {
    auto ends = std::move(held);
  }
  on.pe.run();
  EXPECT_TRUE(first);
}

/// Tasks that commute on two of few objects each, in all orders that a seed gives; some on devices.
void add_in_any_order(int num_devices, unsigned seed, std::uint64_t elements_that_fit) {
  hetero_pe on(num_devices, elements_that_fit * sizeof(std::uint64_t));
  on.pe.queue.set_schedule_seed(seed);
  std::mt19937 random(seed);
  constexpr std::size_t n = 4, elements = 8;
  std::vector<hetero_object<std::uint64_t>> x;
  std::vector<std::uint64_t> sum(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    x.push_back(on.object<std::uint64_t>(elements));
    submit(*on.domain, {}, set_to_zero, write(x[i]));
  }
  for (int i = 0; i < 300; ++i) {
    const std::size_t a = random() % n, b = (a + 1 + random() % (n - 1)) % n;
    const std::uint64_t term = random();
    const task_options o{.priority = static_cast<int>(random() % 3)};
    const auto add = [term](counts v, counts w) {
      for (std::size_t k = 0; k < elements; ++k) v[k] += term, w[k] += 2 * term;
    };
    const auto there = [add](stream& s, counts v, counts w) { s.call("add", [=] { add(v, w); }); };
    sum[a] += term;
    sum[b] += 2 * term;
    if (num_devices > 0 && random() % 2 == 0) {
      submit(*on.domain, o, there, commute(x[a]), commute(x[b]));
    } else {
      submit(*on.domain, o, add, commute(x[a]), commute(x[b]));
    }
    if (random() % 16 == 0) {
      submit(*on.domain, o, [expected = sum[a]](seen v) { ASSERT_EQ(v[3], expected); }, x[a]);
    }
    if (random() % 32 == 0) on.pe.run();
  }
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(first_of(on, x[i]), sum[i]) << "object " << i << ", seed " << seed;
  EXPECT_EQ(on.domain->num_outstanding(), 0U);
  x.clear();
  EXPECT_EQ(on.memory.used().in_use, 0U);
}

TEST(commuting, all_terms_are_added_whatever_the_order) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    add_in_any_order(0, seed, 1000);
    add_in_any_order(1, seed, 1000);
    add_in_any_order(2, seed, 20);
  }
}

TEST(commuting, a_failure_reaches_those_that_come_after_and_who_reads) {
  hetero_pe on;
  auto x = on.object<std::uint64_t>(1);
  submit(*on.domain, {}, set_to_zero, write(x));
  const hetero_task before = submit(*on.domain, {.priority = 2}, [](counts v) { v[0] += 1; }, commute(x));
  const hetero_task bad =
      submit(*on.domain, {.priority = 1}, [](counts) { throw std::runtime_error("no"); }, commute(x));
  const hetero_task behind = submit(*on.domain, {}, [](counts) { FAIL(); }, commute(x));
  const hetero_task reader = submit(*on.domain, {}, [](seen) { FAIL(); }, x);
  on.pe.run();
  EXPECT_EQ(before.state(), task_state::done);
  for (const hetero_task& t : {bad, behind, reader}) EXPECT_EQ(t.state(), task_state::failed);
  EXPECT_THROW(throw_failure(*bad.node()), remote_error);
  submit(*on.domain, {}, set_to_zero, write(x));
  const hetero_task heals = submit(*on.domain, {}, [](counts v) { v[0] += 5; }, commute(x));
  EXPECT_EQ(first_of(on, x), 5U);
  EXPECT_EQ(heals.state(), task_state::done);
}

TEST(commuting, with_parts_of_the_object_is_in_the_order_of_submission) {
  hetero_pe on(1);
  auto x = on.object<std::uint64_t>(8);
  submit(*on.domain, {}, set_to_zero, write(x));
  const auto add = [](std::uint64_t term) { return [term](counts v) { v[0] = 2 * v[0] + term; }; };
  submit(*on.domain, {}, add(1), commute(x));
  auto front = x.slice(0, 4);
  submit(*on.domain, {.priority = 1}, add(2), commute(front));
  submit(*on.domain, {.priority = 2}, add(3), commute(front));
  submit(*on.domain, {.priority = 3}, add(4), commute(x));
  EXPECT_EQ(first_of(on, x), 2U * (2 * (2 * 1 + 2) + 3) + 4);
}

TEST(commuting, a_window_keeps_the_order_of_recording) {
  hetero_pe on;
  auto x = on.object<std::uint64_t>(1);
  submit(*on.domain, {}, set_to_zero, write(x));
  const task_window w = record(*on.domain, [&] {
    submit(*on.domain, {}, [](counts v) { v[0] = 3 * v[0] + 1; }, commute(x));
    submit(*on.domain, {.priority = 1}, [](counts v) { v[0] = 5 * v[0] + 2; }, commute(x));
  });
  w.replay();
  w.replay();
  EXPECT_EQ(first_of(on, x), 5U * (3 * 7 + 1) + 2);
}

}  // namespace

}  // namespace commuting_test
