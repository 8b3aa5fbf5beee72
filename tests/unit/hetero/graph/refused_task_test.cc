#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace refused_task_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr auto fill = [](std::span<double> v) { std::fill(v.begin(), v.end(), 1.0); };

task<> await(hetero_task t) { co_await t; }

// What has the memory of the refused task must not be let go on by those that the refused one should have waited for.
TEST(refused_task, leaves_nothing_behind_at_those_it_should_have_waited_for) {
  hetero_pe on;
  auto y = on.object<double>(1), z = on.object<double>(1), unwritten = on.object<double>(1);
  const hetero_task earlier = submit(*on.domain, {.name = "earlier", .priority = 5}, fill, write(y));
  auto two = [](std::span<const double>, std::span<const double>) { FAIL() << "it was refused"; };
  EXPECT_THROW(submit(*on.domain, {.after = std::span(&earlier, 1)}, two, y, unwritten), usage_error);
  EXPECT_EQ(earlier.node()->successors, nullptr);
  submit(*on.domain, {.name = "writer of z", .priority = -5}, fill, write(z));
  double seen = 0;
  auto read_both = [&seen](std::span<const double>, std::span<const double> v) { seen = v[0]; };
  const hetero_task reader = submit(*on.domain, {.name = "reader", .priority = 9}, read_both, y, z);
  EXPECT_EQ(reader.node()->num_blockers, 2);
  on.run(await(reader));
  EXPECT_EQ(seen, 1);
}

TEST(refused_task, leaves_nothing_behind_in_a_window) {
  hetero_pe on(1, 1000);
  auto x = on.object<double>(10), large = on.object<double>(1000);
  const task_window w = record(*on.domain, [&] {
    const hetero_task first = submit(*on.domain, {}, fill, write(x));
    EXPECT_THROW(submit(*on.domain, {.after = std::span(&first, 1)}, add_on_device(1), write(large)), out_of_memory);
    submit(*on.domain, {}, fill, x);
  });
  EXPECT_EQ(w.num_tasks(), 2);
  on.run(await(w.replay()));
}

TEST(refused_task, may_not_run_after_a_task_of_another_domain) {
  hetero_pe on;
  hetero_domain other(on.pe.queue, on.host, {});
  hetero_object<double> x(other, 1);
  const hetero_task there = submit(other, {.name = "there"}, fill, write(x));
  try {
    submit(*on.domain, {.name = "here", .after = std::span(&there, 1)}, [] {});
    FAIL() << "nothing was thrown";
  } catch (const usage_error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("'here'"), testing::HasSubstr("'there'")));
  }
  on.pe.run();
}

}  // namespace

}  // namespace refused_task_test
