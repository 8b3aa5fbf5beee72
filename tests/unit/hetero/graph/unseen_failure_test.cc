#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include "unit/object/job.h"

namespace unseen_failure_test {

// A failed task whose error nobody has seen makes the job fail in the end.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using object = ix::hetero_object<double>;
using testing::HasSubstr;
using testing::Not;

constexpr auto fill = [](std::span<double> v) { std::fill(v.begin(), v.end(), 1.0); };
constexpr auto fail = [](std::span<double>) { throw std::runtime_error("the sensor is on fire"); };
constexpr auto copy = [](std::span<const double> from, std::span<double> to) { to[0] = from[0]; };

ix::task<int> nobody_awaits(ix::runtime&) {
  object a(4), b(4);
  ix::submit({.name = "bad"}, fail, write(a));
  ix::submit({.name = "dependent"}, copy, a, write(b));
  co_return 0;
}

ix::task<int> the_handle_is_kept(ix::runtime& rt) {
  object a(4);
  const ix::hetero_task bad = ix::submit({.name = "bad"}, fail, write(a));
  co_await rt.quiescence();
  co_return 0;
}

ix::task<int> two_of_three_are_awaited(ix::runtime&) {
  std::vector<object> all;
  std::vector<ix::hetero_task> tasks;
  for (int i = 0; i < 3; ++i) {
    all.emplace_back(std::size_t{1});
    auto fail_so = [i](std::span<double>) { throw std::runtime_error("for reason " + std::to_string(i)); };
    tasks.push_back(ix::submit({.name = "number " + std::to_string(i)}, fail_so, write(all.back())));
  }
  for (const int i : {0, 2}) {
    bool threw = false;
    try {
      co_await tasks[static_cast<std::size_t>(i)];
    } catch (const ix::error&) {
      threw = true;
    }
    EXPECT_TRUE(threw);
  }
  co_return 0;
}

struct worker : ix::chare<worker, ix::index1d> {
  void start() {
    object a(1);
    ix::submit({.name = "of a worker"}, fail, write(a));
  }
};

ix::task<int> on_the_last_pe(ix::runtime& rt) {
  auto workers = rt.create_array<worker>(ix::index1d(rt.num_pes()));
  workers[rt.num_pes() - 1].send<&worker::start>();
  co_await rt.quiescence();
  co_return 0;
}

ix::task<int> the_dependent_is_awaited(ix::runtime&) {
  object a(4), b(4);
  ix::submit({.name = "bad"}, fail, write(a));
  const ix::hetero_task t = ix::submit({.name = "dependent"}, copy, a, write(b));
  bool threw = false;
  try {
    co_await t;
  } catch (const ix::error&) {
    threw = true;
  }
  EXPECT_TRUE(threw);
  co_return 0;
}

ix::task<int> who_needs_two_is_awaited(ix::runtime&) {
  object a(4), b(4);
  ix::submit({.name = "bad"}, fail, write(a));
  ix::submit({.name = "worse"}, fail, write(b));
  const ix::hetero_task t = ix::submit({.name = "dependent"}, copy, a, b);
  bool threw = false;
  try {
    co_await t;
  } catch (const ix::error&) {
    threw = true;
  }
  EXPECT_TRUE(threw);
  co_return 0;
}

/// What combines the parts is nobody's task.
ix::task<int> a_view_throws_what_combining_threw(ix::runtime&) {
  object a(4);
  const auto fails = [](double&, double&&) { throw std::runtime_error("no sum"); };
  const auto into = reduce(a, fails, 0.0);
  for (int i = 0; i < 9; ++i) ix::submit({}, [](std::span<double> v) { v[0] += 1; }, into);
  auto access = a.host(ix::access_mode::read);
  bool threw = false;
  try {
    const auto view = co_await access;
  } catch (const ix::error&) {
    threw = true;
  }
  EXPECT_TRUE(threw);
  co_return 0;
}

ix::task<int> a_view_throws_it(ix::runtime&) {
  object a(4);
  ix::submit({.name = "bad"}, fail, write(a));
  auto access = a.host(ix::access_mode::read);
  bool threw = false;
  try {
    const auto view = co_await access;
  } catch (const ix::error&) {
    threw = true;
  }
  EXPECT_TRUE(threw);
  co_return 0;
}

ix::task<int> a_window_s(ix::runtime&) {
  object a(4);
  const ix::task_window w = ix::record([&] {
    ix::submit({.name = "fills"}, fill, write(a));
    ix::submit({.name = "bad"}, fail, a);
  });
  w.replay();
  co_return 0;
}

/// The receiver of an object that never came into being.
struct taker : ix::chare<taker, ix::index1d> {
  ix::task<int> take(object x) {
    try {
      auto access = x.host(ix::access_mode::read);
      const auto view = co_await access;
    } catch (const ix::error&) {
      co_return 1;
    }
    co_return 0;
  }
};

ix::task<int> who_was_sent_the_object_sees_it(ix::runtime& rt) {
  auto takers = rt.create_array<taker>(ix::index1d(rt.num_pes()));
  for (int i = 0; i < rt.num_pes(); ++i) {
    object a(100'000);
    ix::submit({.name = "bad"}, fail, write(a));
    const int threw = co_await takers[i].call<&taker::take>(a);
    EXPECT_EQ(threw, 1);
  }
  co_return 0;
}

template <class Start>
void expect_failure(Start start, const std::vector<std::string>& parts) {
  for (const job_shape s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 2}, job_shape{2, 2}}) {
    SCOPED_TRACE(to_text(s));
    const auto [code, errors] = run_and_listen(s, start);
    EXPECT_EQ(code, 70);
    for (const std::string& part : parts) EXPECT_THAT(errors, HasSubstr(part));
  }
}

TEST(unseen_failure, of_a_task_that_nobody_awaits_ends_the_job_badly) {
  expect_failure(nobody_awaits, {"task 'bad'", "the sensor is on fire", "nobody has awaited them"});
}
TEST(unseen_failure, of_a_task_whose_handle_is_kept_too) { expect_failure(the_handle_is_kept, {"task 'bad'"}); }
TEST(unseen_failure, is_told_of_the_one_that_was_not_awaited) {
  const auto [code, errors] = run_and_listen({1, 1}, two_of_three_are_awaited);
  EXPECT_EQ(code, 70);
  EXPECT_THAT(errors, HasSubstr("for reason 1"));
  EXPECT_THAT(errors, Not(HasSubstr("for reason 0")));
  EXPECT_THAT(errors, Not(HasSubstr("for reason 2")));
}
TEST(unseen_failure, of_any_pe_of_any_rank) { expect_failure(on_the_last_pe, {"task 'of a worker'"}); }
TEST(unseen_failure, of_a_window_that_nobody_awaits) { expect_failure(a_window_s, {"the sensor is on fire"}); }

TEST(unseen_failure, is_none_when_a_dependent_task_is_awaited) { run_over_all_shapes(the_dependent_is_awaited); }
TEST(unseen_failure, is_none_when_a_task_that_needed_both_is_awaited) { run_over_all_shapes(who_needs_two_is_awaited); }
TEST(unseen_failure, is_none_when_a_view_throws_what_combining_threw) {
  run_over_all_shapes(a_view_throws_what_combining_threw);
}
TEST(unseen_failure, is_none_when_a_view_throws_it) { run_over_all_shapes(a_view_throws_it); }
TEST(unseen_failure, is_none_when_the_receiver_of_the_object_sees_it) {
  run_over_all_shapes(who_was_sent_the_object_sees_it);
}

}  // namespace

}  // namespace unseen_failure_test
