#include "imbrex/async/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "imbrex/async/completion.h"
#include "imbrex/async/when_all.h"
#include "imbrex/base/error.h"
#include "unit/async/bare_pe.h"

namespace task_test {

namespace {

using imbrex::completion;
using imbrex::task;
using imbrex_test::bare_pe;
using imbrex_test::started;

/// Counts how many of it live.
struct counted {
  explicit counted(int* alive) : alive_(alive) { ++*alive_; }
  counted(const counted& other) : alive_(other.alive_) { ++*alive_; }
  ~counted() { --*alive_; }
  counted& operator=(const counted&) = delete;
  int* alive_;
};

task<int> number(int n) { co_return n; }
task<std::string> joined(std::string a, std::string b) { co_return a + b; }
task<std::unique_ptr<int>> owned(int n) { co_return std::make_unique<int>(n); }

task<int> sum_to(int n) {
  if (n == 0) co_return 0;
  const int rest = co_await sum_to(n - 1);
  co_return n + rest;
}

task<> store(int* to) {
  *to = co_await number(20);
  *to += co_await number(22);
}

TEST(task, starts_when_awaited_and_gives_its_value) {
  bare_pe pe;
  int result = 0;
  started s(store(&result));
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(result, 42);
}

TEST(task, does_not_start_by_itself) {
  bare_pe pe;
  int result = 0;
  {
    const task<> never = store(&result);
  }
  EXPECT_EQ(result, 0);
}

task<> store_nested(int* to) { *to = co_await sum_to(1000); }

TEST(task, nests_without_using_up_the_stack) {
  bare_pe pe;
  int result = 0;
  started s(store_nested(&result));
  EXPECT_EQ(result, 500500);
}

task<> store_values(std::string* text, std::unique_ptr<int>* pointer) {
  *text = co_await joined("over", "decomposed");
  *pointer = co_await owned(5);
}

TEST(task, gives_values_that_own_memory_and_that_only_move) {
  bare_pe pe;
  std::string text;
  std::unique_ptr<int> pointer;
  started s(store_values(&text, &pointer));
  EXPECT_EQ(text, "overdecomposed");
  ASSERT_TRUE(pointer);
  EXPECT_EQ(*pointer, 5);
}

task<int> thrower(completion* gate) {
  if (gate != nullptr) co_await *gate;
  throw std::runtime_error("seven");
}

task<int> passes_on(completion* gate) {
  const int n = co_await thrower(gate);
  co_return n;
}

task<> catcher(completion* gate, std::string* what) {
  try {
    co_await passes_on(gate);
  } catch (const std::runtime_error& e) {
    *what = e.what();
  }
}

TEST(task, an_exception_arrives_at_the_awaiter) {
  bare_pe pe;
  std::string what;
  started s(catcher(nullptr, &what));
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(what, "seven");
}

TEST(task, an_exception_after_a_wait_arrives_too) {
  bare_pe pe;
  completion gate;
  std::string what;
  started s(catcher(&gate, &what));
  EXPECT_FALSE(s.ended());
  gate.set();
  pe.run();
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(what, "seven");
}

task<> throws_at_root() {
  co_await number(1);
  throw std::logic_error("root");
}

TEST(task, an_exception_of_the_outermost_is_kept_for_its_starter) {
  bare_pe pe;
  started s(throws_at_root());
  ASSERT_TRUE(s.ended());
  EXPECT_THROW(std::rethrow_exception(s.failure()), std::logic_error);
}

task<> waits_holding(completion* gate, counted held) {
  co_await *gate;
  (void)held;
}

task<> outer_holding(completion* gate, counted held) {
  const counted local(held);
  task<> inner = waits_holding(gate, local);
  co_await inner;
}

TEST(task, destroying_it_destroys_the_whole_suspended_chain) {
  bare_pe pe;
  completion gate;
  int alive = 0;
  started s(outer_holding(&gate, counted(&alive)));
  EXPECT_FALSE(s.ended());
  EXPECT_NE(s.first_waiter, nullptr);
  EXPECT_EQ(alive, 3);
  s.destroy();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(s.first_waiter, nullptr);
  gate.set();  // nobody waits any more
  EXPECT_EQ(pe.run(), 0);
}

TEST(task, ending_destroys_what_it_held) {
  bare_pe pe;
  completion gate;
  int alive = 0;
  {
    started s(outer_holding(&gate, counted(&alive)));
    gate.set();
    pe.run();
    EXPECT_TRUE(s.ended());
  }
  EXPECT_EQ(alive, 0);
}

TEST(task, moves) {
  bare_pe pe;
  int result = 0;
  task<> a = store(&result);
  task<> b = std::move(a);
  EXPECT_FALSE(a.handle());  // NOLINT(bugprone-use-after-move)
  a = std::move(b);
  started s(std::move(a));
  EXPECT_EQ(result, 42);
}

task<> await_moved_from(std::string* what) {
  task<int> first = number(1);
  const task<int> second = std::move(first);
  try {
    co_await first;  // NOLINT(bugprone-use-after-move)
  } catch (const imbrex::usage_error& e) {
    *what = e.what();
  }
  const int n = co_await second;
  EXPECT_EQ(n, 1);
}

task<> await_nothing(std::string* what) {
  const task<> none;
  try {
    co_await none;
  } catch (const imbrex::usage_error& e) {
    *what = e.what();
  }
}

task<> await_twice(std::string* what) {
  const task<int> once = number(5);
  const int n = co_await once;
  EXPECT_EQ(n, 5);
  try {
    co_await once;
  } catch (const imbrex::usage_error& e) {
    *what = e.what();
  }
}

TEST(task, that_was_moved_from_or_never_made_is_a_named_error_to_await) {
  bare_pe pe;
  for (auto* const body : {&await_moved_from, &await_nothing}) {
    std::string what;
    started s(body(&what));
    EXPECT_TRUE(s.ended());
    EXPECT_NE(what.find("an empty task was awaited"), std::string::npos) << what;
  }
}

TEST(task, that_has_ended_is_a_named_error_to_await_again) {
  bare_pe pe;
  std::string what;
  started s(await_twice(&what));
  EXPECT_TRUE(s.ended());
  EXPECT_NE(what.find("awaited a second time"), std::string::npos) << what;
}

task<> await_in_a_group(std::string* what) {
  std::vector<task<int>> tasks;
  tasks.push_back(number(1));
  tasks.emplace_back();
  try {
    auto all = imbrex::when_all(std::move(tasks));
    co_await all;
  } catch (const imbrex::usage_error& e) {
    *what = e.what();
  }
}

TEST(task, that_is_empty_is_a_named_error_among_several_too) {
  bare_pe pe;
  std::string what;
  started s(await_in_a_group(&what));
  EXPECT_TRUE(s.ended());
  EXPECT_NE(what.find("an empty task was awaited"), std::string::npos) << what;
}

}  // namespace

}  // namespace task_test
