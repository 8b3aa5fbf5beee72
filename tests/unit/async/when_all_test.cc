#include "imbrex/async/when_all.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <variant>
#include <vector>

#include "imbrex/async/completion.h"
#include "unit/async/bare_pe.h"

namespace when_all_test {

namespace {

using imbrex::completion;
using imbrex::task;
using imbrex::when_all;
using imbrex_test::bare_pe;
using imbrex_test::started;

task<int> after(completion* gate, int value) {
  if (gate != nullptr) co_await *gate;
  co_return value;
}

task<std::string> text_after(completion* gate, std::string value) {
  co_await *gate;
  co_return value;
}

task<> nothing_after(completion* gate) { co_await *gate; }

task<int> fails_after(completion* gate, std::string what) {
  co_await *gate;
  throw std::runtime_error(what);
}

task<> all_three(completion* a, completion* b, completion* c, std::tuple<int, std::string, std::monostate>* to) {
  task<int> first = after(a, 1);
  task<std::string> second = text_after(b, "two");
  task<> third = nothing_after(c);
  *to = co_await when_all(std::move(first), std::move(second), std::move(third));
}

TEST(when_all, gives_all_values_whatever_the_order) {
  const std::size_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}, {1, 0, 2}};
  for (const auto& order : orders) {
    bare_pe pe;
    completion gates[3];
    std::tuple<int, std::string, std::monostate> values;
    started s(all_three(&gates[0], &gates[1], &gates[2], &values));
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_FALSE(s.ended());
      gates[order[i]].set();
      pe.run();
    }
    ASSERT_TRUE(s.ended());
    EXPECT_EQ(s.failure(), nullptr);
    EXPECT_EQ(std::get<0>(values), 1);
    EXPECT_EQ(std::get<1>(values), "two");
  }
}

TEST(when_all, need_not_wait_when_all_has_happened) {
  bare_pe pe;
  completion gates[3];
  for (completion& g : gates) g.set();
  std::tuple<int, std::string, std::monostate> values;
  started s(all_three(&gates[0], &gates[1], &gates[2], &values));
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(std::get<1>(values), "two");
}

task<> all_of_list(std::vector<completion>* gates, std::vector<int>* to) {
  std::vector<task<int>> list;
  for (std::size_t i = 0; i < gates->size(); ++i) list.push_back(after(&(*gates)[i], static_cast<int>(i) * 10));
  *to = co_await when_all(std::move(list));
}

TEST(when_all, gives_a_list_in_its_own_order) {
  bare_pe pe;
  std::vector<completion> gates(20);
  std::vector<int> values;
  started s(all_of_list(&gates, &values));
  for (std::size_t i = gates.size(); i-- > 0;) {
    EXPECT_FALSE(s.ended());
    gates[i].set();
    pe.run();
  }
  ASSERT_TRUE(s.ended());
  ASSERT_EQ(values.size(), 20u);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<int>(i) * 10);
}

TEST(when_all, an_empty_list_is_done) {
  bare_pe pe;
  std::vector<completion> gates;
  std::vector<int> values{1};
  started s(all_of_list(&gates, &values));
  EXPECT_TRUE(s.ended());
  EXPECT_TRUE(values.empty());
}

task<> two_failures(completion* a, completion* b, completion* c, std::string* what) {
  task<int> first = after(a, 1);
  task<int> second = fails_after(b, "second");
  task<int> third = fails_after(c, "third");
  try {
    co_await when_all(std::move(first), std::move(second), std::move(third));
  } catch (const std::runtime_error& e) {
    *what = e.what();
  }
}

TEST(when_all, waits_for_all_and_then_throws_the_first_in_argument_order) {
  bare_pe pe;
  completion gates[3];
  std::string what;
  started s(two_failures(&gates[0], &gates[1], &gates[2], &what));
  gates[2].set();
  pe.run();
  gates[1].set();
  pe.run();
  EXPECT_FALSE(s.ended());
  gates[0].set();
  pe.run();
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(what, "second");
}

TEST(when_all, destroying_the_waiting_chain_takes_back_every_wait) {
  bare_pe pe;
  std::vector<completion> gates(4);
  std::vector<int> values;
  started s(all_of_list(&gates, &values));
  gates[1].set();
  pe.run();
  gates[2].set();  // queued, but not run
  s.destroy();
  EXPECT_EQ(s.first_waiter, nullptr);
  gates[0].set();
  gates[3].set();
  EXPECT_EQ(pe.run(), 0);
  EXPECT_TRUE(values.empty());
}

TEST(when_all, completions_set_by_several_threads) {
  bare_pe pe;
  std::vector<completion> gates(64);
  std::vector<int> values;
  started s(all_of_list(&gates, &values));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&gates, t] {
      for (std::size_t i = t; i < gates.size(); i += 4) gates[i].set();
    });
  }
  pe.run_until([&] { return s.ended(); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(values.size(), 64u);
}

task<std::tuple<int, int>> inner_pair(completion* a, completion* b) {
  task<int> first = after(a, 1);
  task<int> second = after(b, 2);
  const std::tuple<int, int> both = co_await when_all(std::move(first), std::move(second));
  co_return both;
}

task<> nested(completion* a, completion* b, completion* c, int* to) {
  task<std::tuple<int, int>> pair = inner_pair(a, b);
  task<int> third = after(c, 4);
  const auto [both, one] = co_await when_all(std::move(pair), std::move(third));
  *to = std::get<0>(both) + std::get<1>(both) + one;
}

TEST(when_all, nests) {
  bare_pe pe;
  completion a, b, c;
  int sum = 0;
  started s(nested(&a, &b, &c, &sum));
  c.set();
  b.set();
  a.set();
  pe.run();
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(sum, 7);
}

task<std::unique_ptr<int>> owned(int n) { co_return std::make_unique<int>(n); }

task<> store_owned(int* to) {
  task<std::unique_ptr<int>> first = owned(3);
  task<std::unique_ptr<int>> second = owned(4);
  std::tuple<std::unique_ptr<int>, std::unique_ptr<int>> both = co_await when_all(std::move(first), std::move(second));
  *to = *std::get<0>(both) * *std::get<1>(both);
}

TEST(when_all, gives_values_that_only_move) {
  bare_pe pe;
  int product = 0;
  started s(store_owned(&product));
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(product, 12);
}

}  // namespace

}  // namespace when_all_test
