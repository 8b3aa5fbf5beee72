// When an object may go over to an element of the same PE instead of being copied.
#include <gtest/gtest.h>

#include "imbrex/hetero/tasks/open_task.h"
#include "unit/hetero/hetero_fixture.h"

namespace last_handle_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

bool is_last(const hetero_object<double>& o) { return detail::has_one_handle(*o.data()); }

task<> await_one(hetero_task t) { co_await t; }

void fill(hetero_pe& on, const hetero_object<double>& x) {
  submit(*on.domain, {}, [](std::span<double> v) { std::ranges::fill(v, 1.0); }, write(x));
}

TEST(last_handle, is_one_though_tasks_use_the_object) {
  hetero_pe on(1);
  auto x = on.object<double>(10);
  EXPECT_TRUE(is_last(x));
  fill(on, x);
  const hetero_task t = submit(*on.domain, {}, add_on_device(1), x);
  EXPECT_TRUE(is_last(x)) << "waiting";
  on.domain->dispatch();
  EXPECT_TRUE(is_last(x)) << to_string(t.state());
  on.run(await_one(t));
  EXPECT_TRUE(is_last(x)) << "over";
}

TEST(last_handle, is_none_beside_another) {
  hetero_pe on;
  auto x = on.object<double>(10);
  {
    const hetero_object<double> other = x;
    EXPECT_FALSE(is_last(x));
  }
  EXPECT_TRUE(is_last(x));
}

TEST(last_handle, is_none_of_a_slice_or_of_what_has_slices) {
  hetero_pe on;
  auto x = on.object<double>(10);
  fill(on, x);
  auto part = x.slice(2, 3);
  EXPECT_FALSE(is_last(part)) << "tasks on the whole would change it";
  EXPECT_FALSE(is_last(x));
}

TEST(last_handle, is_none_of_what_a_window_uses) {
  hetero_pe on;
  auto x = on.object<double>(10);
  fill(on, x);
  task_window w = record(*on.domain, [&] { submit(*on.domain, {}, [](std::span<double> v) { v[0] += 1; }, x); });
  EXPECT_FALSE(is_last(x)) << "a replay would change it";
}

}  // namespace

}  // namespace last_handle_test
