#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace failure_test {

namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using imbrex_test::run_and_listen;
using testing::HasSubstr;

struct faulty : ix::chare<faulty, ix::index2d> {
  explicit faulty(int bad = -1) {
    if (index().x == bad) throw std::runtime_error("cannot be built");
  }
  void fail() { throw ix::usage_error("no such field"); }
  void fail_with(int n) { throw n; }
  ix::task<> fail_later() {
    co_await array()[{0, 0}].call<&faulty::nothing>();
    throw std::runtime_error("too late");
  }
  ix::task<> fail_after_message() {
    auto [n] = co_await slot(1);
    if (n == 5) throw std::runtime_error("five");
  }
  ix::task<> reply_fails() { co_await array()[{0, 0}].call<&faulty::fail>(); }
  void nothing() {}
  void chatter() { array().broadcast<&faulty::chatter>(); }
  ix::when<int, int> slot;
};

const ix::index2d extent{4, 2};

int rank_of(const job_shape& s, const ix::index2d& i) { return ix::map::block{}(i, extent, s.pes * s.ranks) / s.pes; }

template <auto M>
ix::task<int> fails_in(ix::runtime& rt) {
  auto a = rt.create_array<faulty>(extent);
  a[{3, 1}].send<M>();
  a[{3, 1}].send<&faulty::slot>(1, 5);
  co_await a.reduction<int>();  // for ever
  co_return 0;
}

/// But for what a sanitizer says of itself.
long num_lines(const std::string& text) {
  std::istringstream in(text);
  long number = 0;
  for (std::string line; std::getline(in, line);) number += line.starts_with("==") ? 0 : 1;
  return number;
}

template <class Start>
void expect_report(Start start, const std::string& method, const std::string& what) {
  for (const job_shape& s : imbrex_test::all_shapes()) {
    SCOPED_TRACE(to_text(s));
    const auto [code, errors] = run_and_listen(s, start);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, HasSubstr("error: "));
    EXPECT_THAT(errors, HasSubstr(method));
    EXPECT_THAT(errors, HasSubstr("faulty(3, 1)"));
    EXPECT_THAT(errors, HasSubstr(fmt::format("rank {}", rank_of(s, {3, 1}))));
    EXPECT_THAT(errors, HasSubstr(what));
    EXPECT_EQ(num_lines(errors), 1) << errors;
  }
}

TEST(failure, of_an_entry_method_names_method_element_and_rank) {
  expect_report(fails_in<&faulty::fail>, "faulty::fail of ", "no such field");
}
TEST(failure, of_a_coroutine_that_waited_is_reported_alike) {
  expect_report(fails_in<&faulty::fail_later>, "faulty::fail_later of ", "too late");
}
TEST(failure, after_a_message_of_a_slot_is_reported_alike) {
  expect_report(fails_in<&faulty::fail_after_message>, "faulty::fail_after_message of ", "five");
}
TEST(failure, of_a_call_that_nobody_catches_ends_the_caller) {
  expect_report(fails_in<&faulty::reply_fails>, "faulty::reply_fails of ", "no such field");
}

ix::task<int> no_exception_class(ix::runtime& rt) {
  auto a = rt.create_array<faulty>(extent);
  a[{3, 1}].send<&faulty::fail_with>(4);
  co_await a.reduction<int>();
  co_return 0;
}
TEST(failure, by_something_that_is_no_exception_is_reported_alike) {
  expect_report(no_exception_class, "faulty::fail_with of ", "no std::exception");
}

ix::task<int> construction(ix::runtime& rt) {
  auto a = rt.create_array<faulty>(extent, 3);
  co_await a.reduction<int>();
  co_return 0;
}
TEST(failure, of_a_constructor_is_reported) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 1}, {2, 2}}) {
    const auto [code, errors] = run_and_listen(s, construction);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, HasSubstr("the constructor of "));
    EXPECT_THAT(errors, HasSubstr("faulty(3, "));
    EXPECT_THAT(errors, HasSubstr("cannot be built"));
  }
}

ix::task<int> while_busy(ix::runtime& rt) {
  auto a = rt.create_array<faulty>(extent);
  a[{0, 0}].send<&faulty::chatter>();
  a[{3, 1}].send<&faulty::fail>();
  co_await a.reduction<int>();
  co_return 0;
}
TEST(failure, ends_a_busy_job) {
  for (const job_shape& s : imbrex_test::all_shapes()) {
    const auto [code, errors] = run_and_listen(s, while_busy);
    EXPECT_EQ(code, 70) << to_text(s);
    EXPECT_THAT(errors, HasSubstr("faulty::fail of "));
  }
}

ix::task<int> everybody(ix::runtime& rt) {
  auto a = rt.create_array<faulty>(extent);
  a.broadcast<&faulty::fail>();
  co_await a.reduction<int>();
  co_return 0;
}
TEST(failure, of_everybody_gives_one_report_per_rank_at_most) {
  for (const job_shape& s : imbrex_test::all_shapes()) {
    const auto [code, errors] = run_and_listen(s, everybody);
    EXPECT_EQ(code, 70) << to_text(s);
    EXPECT_GE(num_lines(errors), 1) << errors;
    EXPECT_LE(num_lines(errors), s.ranks) << errors;
  }
}

ix::task<int> option_of_the_user(ix::runtime&) {
  throw ix::usage_error("--size is -3: give at least 1");
  co_return 0;
}
ix::task<int> foreign_in_main(ix::runtime& rt) {
  co_await rt.quiescence();
  throw std::runtime_error("surprise");
}
TEST(main_chare, that_throws_a_usage_error_ends_with_its_exit_code_and_text_alone) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 2}}) {
    const auto [code, errors] = run_and_listen(s, option_of_the_user);
    EXPECT_EQ(code, 2);
    EXPECT_THAT(errors, HasSubstr("error: --size is -3: give at least 1\n"));
  }
}
TEST(main_chare, that_throws_anything_else_ends_with_code_70) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 2}}) {
    const auto [code, errors] = run_and_listen(s, foreign_in_main);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, HasSubstr("the main chare"));
    EXPECT_THAT(errors, HasSubstr("surprise"));
  }
}

}  // namespace

}  // namespace failure_test
