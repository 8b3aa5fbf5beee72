#include "imbrex/async/when_any.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "imbrex/async/completion.h"
#include "unit/async/bare_pe.h"

namespace when_any_test {

namespace {

using imbrex::completion;
using imbrex::task;
using imbrex::when_any;
using imbrex_test::bare_pe;
using imbrex_test::started;

/// Notes whether a branch still lives.
struct alive_mark {
  explicit alive_mark(int* count) : count_(count) { ++*count_; }
  alive_mark(const alive_mark&) = delete;
  alive_mark& operator=(const alive_mark&) = delete;
  ~alive_mark() { --*count_; }
  int* count_;
};

task<int> after(completion* gate, int value, int* alive) {
  const alive_mark mark(alive);
  co_await *gate;
  co_return value;
}

task<std::string> text_after(completion* gate, std::string value, int* alive) {
  const alive_mark mark(alive);
  co_await *gate;
  co_return value;
}

task<int> fails_after(completion* gate) {
  co_await *gate;
  throw std::runtime_error("lost");
}

using either = std::variant<int, std::string>;

task<> first_of_two(completion* a, completion* b, either* to, int* alive, int* alive_at_end) {
  task<int> number = after(a, 5, alive);
  task<std::string> text = text_after(b, "five", alive);
  *to = co_await when_any(std::move(number), std::move(text));
  *alive_at_end = *alive;
}

TEST(when_any, gives_the_first_and_takes_back_the_other_wait_at_once) {
  for (std::size_t winner = 0; winner < 2; ++winner) {
    bare_pe pe;
    completion gates[2];
    either value;
    int alive = 0, alive_at_end = -1;
    started s(first_of_two(&gates[0], &gates[1], &value, &alive, &alive_at_end));
    EXPECT_EQ(alive, 2);
    gates[winner].set();
    pe.run();
    ASSERT_TRUE(s.ended());
    EXPECT_EQ(value.index(), winner);
    EXPECT_EQ(alive_at_end, 0);
    EXPECT_EQ(s.first_waiter, nullptr);
    gates[1 - winner].set();
    EXPECT_EQ(pe.run(), 0);
  }
}

TEST(when_any, starts_no_further_branch_once_one_has_ended) {
  bare_pe pe;
  completion gates[2];
  gates[0].set();
  either value;
  int alive = 0, alive_at_end = -1;
  started s(first_of_two(&gates[0], &gates[1], &value, &alive, &alive_at_end));
  ASSERT_TRUE(s.ended());
  EXPECT_EQ(std::get<int>(value), 5);
  EXPECT_EQ(alive_at_end, 0);
}

TEST(when_any, a_later_branch_that_is_ready_cancels_the_earlier) {
  bare_pe pe;
  completion gates[2];
  gates[1].set();
  either value;
  int alive = 0, alive_at_end = -1;
  started s(first_of_two(&gates[0], &gates[1], &value, &alive, &alive_at_end));
  ASSERT_TRUE(s.ended());
  EXPECT_EQ(std::get<std::string>(value), "five");
  EXPECT_EQ(alive_at_end, 0);
  gates[0].set();
  EXPECT_EQ(pe.run(), 0);
}

TEST(when_any, when_several_happen_before_it_runs_only_one_wins) {
  bare_pe pe;
  completion gates[2];
  either value;
  int alive = 0, alive_at_end = -1;
  started s(first_of_two(&gates[0], &gates[1], &value, &alive, &alive_at_end));
  gates[1].set();
  gates[0].set();  // both are queued
  EXPECT_EQ(pe.run(), 1);
  ASSERT_TRUE(s.ended());
  EXPECT_EQ(value.index(), 1u);
}

using numbered = std::pair<std::size_t, int>;

task<> first_of_list(std::vector<completion>* gates, numbered* to, int* alive) {
  std::vector<task<int>> list;
  for (std::size_t i = 0; i < gates->size(); ++i) list.push_back(after(&(*gates)[i], static_cast<int>(i) * 10, alive));
  *to = co_await when_any(std::move(list));
}

TEST(when_any, tells_the_position_in_a_list) {
  for (std::size_t winner : {0u, 3u, 7u}) {
    bare_pe pe;
    std::vector<completion> gates(8);
    numbered result{99, 0};
    int alive = 0;
    started s(first_of_list(&gates, &result, &alive));
    gates[winner].set();
    pe.run();
    ASSERT_TRUE(s.ended());
    EXPECT_EQ(result, numbered(winner, static_cast<int>(winner) * 10));
    EXPECT_EQ(alive, 0);
  }
}

TEST(when_any, an_empty_list_is_an_error) {
  bare_pe pe;
  std::vector<completion> gates;
  numbered result;
  int alive = 0;
  started s(first_of_list(&gates, &result, &alive));
  ASSERT_TRUE(s.ended());
  EXPECT_THROW(std::rethrow_exception(s.failure()), imbrex::usage_error);
}

task<> failing(completion* a, completion* b, std::string* what, int* alive) {
  task<int> number = after(a, 5, alive);
  task<int> failure = fails_after(b);
  try {
    co_await when_any(std::move(number), std::move(failure));
    *what = "nothing";
  } catch (const std::runtime_error& e) {
    *what = e.what();
  }
}

TEST(when_any, throws_when_the_first_did) {
  bare_pe pe;
  completion a, b;
  std::string what;
  int alive = 0;
  started s(failing(&a, &b, &what, &alive));
  b.set();
  pe.run();
  ASSERT_TRUE(s.ended());
  EXPECT_EQ(what, "lost");
  EXPECT_EQ(alive, 0);
}

TEST(when_any, a_failure_that_comes_second_is_not_seen) {
  bare_pe pe;
  completion a, b;
  std::string what;
  int alive = 0;
  started s(failing(&a, &b, &what, &alive));
  a.set();
  pe.run();
  ASSERT_TRUE(s.ended());
  EXPECT_EQ(what, "nothing");
}

TEST(when_any, destroying_the_waiting_chain_takes_back_every_wait) {
  bare_pe pe;
  std::vector<completion> gates(4);
  numbered result{99, 0};
  int alive = 0;
  started s(first_of_list(&gates, &result, &alive));
  gates[2].set();
  s.destroy();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(s.first_waiter, nullptr);
  gates[0].set();
  EXPECT_EQ(pe.run(), 0);
  EXPECT_EQ(result.first, 99u);
}

TEST(when_any, losers_are_taken_back_while_other_threads_set_them) {
  bare_pe pe;
  for (int round = 0; round < 300; ++round) {
    std::vector<completion> gates(3);
    numbered result{99, 0};
    int alive = 0;
    started s(first_of_list(&gates, &result, &alive));
    std::thread one([&gates] { gates[0].set(); });
    std::thread two([&gates] { gates[2].set(); });
    pe.run_until([&] { return s.ended(); });
    one.join();
    two.join();
    EXPECT_TRUE(result.first == 0 || result.first == 2);
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(pe.run(), 0);
  }
}

}  // namespace

}  // namespace when_any_test
