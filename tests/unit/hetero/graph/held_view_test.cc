#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include "unit/object/job.h"

namespace held_view_test {

// A view that is held while its holder waits for what waits for the view: nothing can ever happen again.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using object = ix::hetero_object<double>;
using testing::HasSubstr;

constexpr auto fill = [](std::span<double> v) { std::fill(v.begin(), v.end(), 1.0); };

ix::task<int> a_task_behind_it(ix::runtime&) {
  object x(5);
  ix::submit({}, fill, write(x));
  auto access = x.host(ix::access_mode::read);
  const auto view = co_await access;
  const ix::hetero_task t = ix::submit({.name = "update"}, fill, x);
  co_await t;
  co_return 0;
}

ix::task<int> a_task_behind_another(ix::runtime&) {
  object x(5), y(5);
  ix::submit({}, fill, write(x));
  auto access = x.host(ix::access_mode::read);
  const auto view = co_await access;
  ix::submit({.name = "first"}, [](std::span<double> a, std::span<double> b) { b[0] = a[0]; }, x, write(y));
  const ix::hetero_task t = ix::submit({.name = "second"}, fill, y);
  co_await t;
  co_return 0;
}

ix::task<int> a_second_view(ix::runtime&) {
  object x(5);
  ix::submit({}, fill, write(x));
  auto access = x.host(ix::access_mode::read);
  const auto view = co_await access;
  auto second = x.host(ix::access_mode::read_write);
  const auto changing = co_await second;
  co_return 0;
}

ix::task<int> an_access_that_nobody_awaits(ix::runtime&) {
  object x(5);
  ix::submit({}, fill, write(x));
  auto access = x.host(ix::access_mode::read);
  const ix::hetero_task t = ix::submit({.name = "update"}, fill, x);
  co_await t;
  co_return 0;
}

ix::task<int> a_slice_of_it(ix::runtime&) {
  object x(8);
  ix::submit({}, fill, write(x));
  auto access = x.host(ix::access_mode::read);
  const auto view = co_await access;
  const ix::hetero_task t = ix::submit({.name = "update half"}, fill, x.slice(0, 4));
  co_await t;
  co_return 0;
}

template <class Start>
void expect_report(Start start, const std::vector<std::string>& parts) {
  for (const job_shape s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{2, 2}}) {
    SCOPED_TRACE(to_text(s));
    const auto [code, errors] = run_and_listen(s, start);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, HasSubstr("deadlock"));
    for (const std::string& part : parts) EXPECT_THAT(errors, HasSubstr(part));
  }
}

TEST(held_view, before_a_task_that_is_awaited_is_a_deadlock) {
  expect_report(a_task_behind_it, {"task 'update'", "a view of its argument 0, 40 bytes, is held"});
}
TEST(held_view, before_a_task_before_another_is_a_deadlock) {
  expect_report(a_task_behind_another, {"task 'second'", "behind task 'first'", "a view of its argument 0"});
}
TEST(held_view, before_a_second_view_is_a_deadlock) {
  expect_report(a_second_view, {"an object's data on the host", "a view of its argument 0, 40 bytes, is held"});
}
TEST(held_view, that_was_never_awaited_is_one_too) {
  expect_report(an_access_that_nobody_awaits, {"task 'update'", "a view of its argument 0, 40 bytes, is held"});
}
TEST(held_view, of_the_whole_before_a_task_on_a_slice_is_a_deadlock) {
  expect_report(a_slice_of_it, {"task 'update half'", "a view of its argument 0, 64 bytes, is held"});
}

/// Says something later, from another PE.
struct echo : ix::chare<echo, ix::index1d> {
  int say(int what) { return what; }
};

ix::task<int> held_across_a_message(ix::runtime& rt) {
  auto echoes = rt.create_array<echo>(ix::index1d(2));
  object x(5);
  ix::submit({}, fill, write(x));
  ix::hetero_task t;
  {
    auto access = x.host(ix::access_mode::read);
    const auto view = co_await access;
    t = ix::submit({.name = "update"}, fill, x);
    const int said = co_await echoes[1].call<&echo::say>(3);
    EXPECT_EQ(said, 3);
  }
  co_await t;
  co_return 0;
}

TEST(held_view, that_ends_in_time_is_none) { run_over_all_shapes(held_across_a_message); }

}  // namespace

}  // namespace held_view_test
