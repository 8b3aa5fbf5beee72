#include "imbrex/object/entry/when.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <memory>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "unit/object/job.h"

namespace when_test {

namespace {

namespace ix = imbrex;
using imbrex_test::run_over_all_shapes;

enum class side : std::uint8_t { left, right };

struct node : ix::chare<node, ix::index1d> {
  /// Messages come in the order of the sender's choice, are wanted in order 0, 1, 2...
  ix::task<> take_in_order(int n) {
    for (int i = 0; i < n; ++i) {
      auto [from, text] = co_await arrived(i);
      EXPECT_EQ(from, 100 + i);
      EXPECT_EQ(text, std::to_string(i));
    }
    EXPECT_EQ(arrived.num_queued(), 0u);
    contribute(n, ix::sum);
  }
  ix::task<> take_any(int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) {
      auto [from, text] = co_await arrived.any();
      EXPECT_EQ(std::to_string(from - 100), text);
      sum += from - 100;
    }
    contribute(sum, ix::sum);
  }
  /// Of several that wait for the same, each gets one.
  ix::task<> take_one(int reference) {
    auto [from, text] = co_await arrived(reference);
    contribute(from, ix::sum);
  }
  ix::task<> take_sides() {
    auto [from_right, boxed] = co_await faces(side::right);
    EXPECT_EQ(*boxed, 2);
    auto [from_left, other] = co_await faces(side::left);
    EXPECT_EQ(*other, 1);
    std::tuple<> nothing = co_await bare(7);
    (void)nothing;
    contribute(from_left + from_right, ix::sum);
  }
  std::size_t queued() { return arrived.num_queued(); }

  ix::when<int, int, std::string> arrived;
  ix::when<side, int, std::unique_ptr<int>> faces;
  ix::when<long> bare;
};

void send_backwards(const ix::element_proxy<node>& to, int n) {
  for (int i = n - 1; i >= 0; --i) to.send<&node::arrived>(i, 100 + i, std::to_string(i));
}

ix::task<int> out_of_order(ix::runtime& rt) {
  auto nodes = rt.create_array<node>(ix::index1d(5));
  for (int i = 0; i < 5; ++i) send_backwards(nodes[i], 20);
  nodes.broadcast<&node::take_in_order>(20);
  const int first = co_await nodes.reduction<int>();
  EXPECT_EQ(first, 100);
  nodes.broadcast<&node::take_in_order>(20);
  for (int i = 0; i < 5; ++i) send_backwards(nodes[i], 20);
  const int second = co_await nodes.reduction<int>();
  EXPECT_EQ(second, 100);
  co_return 0;
}

TEST(when, matches_reference_numbers_whatever_the_order) { run_over_all_shapes(out_of_order); }

ix::task<int> any_reference(ix::runtime& rt) {
  auto nodes = rt.create_array<node>(ix::index1d(5));
  nodes.broadcast<&node::take_any>(30);
  for (int i = 0; i < 5; ++i) send_backwards(nodes[i], 30);
  const int sum = co_await nodes.reduction<int>();
  EXPECT_EQ(sum, 5 * 435);
  co_return 0;
}

TEST(when, takes_any_reference) { run_over_all_shapes(any_reference); }

ix::task<int> several_waiters(ix::runtime& rt) {
  auto nodes = rt.create_array<node>(ix::index1d(3));
  for (int k = 0; k < 4; ++k) nodes.broadcast<&node::take_one>(k / 2);
  co_await rt.quiescence();
  for (int i = 0; i < 3; ++i) {
    for (int k : {1, 0, 1, 0, 2}) nodes[i].send<&node::arrived>(k, 10 + k, "");
  }
  int sum = 0;
  for (int k = 0; k < 4; ++k) sum += co_await nodes.reduction<int>();
  EXPECT_EQ(sum, 3 * (11 + 10 + 11 + 10));
  co_await rt.quiescence();  // the last messages may come later than what is sent after them
  for (int i = 0; i < 3; ++i) {
    const std::size_t left = co_await nodes[i].call<&node::queued>();
    EXPECT_EQ(left, 1u);
  }
  co_return 0;
}

TEST(when, gives_each_message_to_one_of_several_waiters) { run_over_all_shapes(several_waiters); }

ix::task<int> kinds_of_slots(ix::runtime& rt) {
  auto nodes = rt.create_array<node>(ix::index1d(4));
  nodes.broadcast<&node::take_sides>();
  for (int i = 0; i < 4; ++i) {
    nodes[i].send<&node::bare>(7);
    nodes[i].send<&node::faces>(side::left, 3, std::make_unique<int>(1));
    nodes[i].send<&node::faces>(side::right, 4, std::make_unique<int>(2));
  }
  const int sum = co_await nodes.reduction<int>();
  EXPECT_EQ(sum, 28);
  co_return 0;
}

TEST(when, has_references_of_enum_type_and_arguments_that_only_move) { run_over_all_shapes(kinds_of_slots); }

struct judge : ix::chare<judge, ix::index1d> {
  /// All of several slots and calls, in whatever order they come.
  ix::task<> all() {
    auto call = array()[(index() + 1) % extent()].call<&judge::square>(6);
    auto [a, b, c, d] = co_await ix::when_all(left(0), right(0), std::move(call), left(1));
    EXPECT_EQ(std::get<0>(a), 1);
    EXPECT_EQ(std::get<0>(b), "two");
    EXPECT_EQ(c, 36);
    EXPECT_EQ(std::get<0>(d), 3);
    std::vector<ix::when<int, int>::wait> many;
    for (int i = 2; i < 8; ++i) many.push_back(left(i));
    const auto values = co_await ix::when_all(std::move(many));
    for (int i = 2; i < 8; ++i) EXPECT_EQ(std::get<0>(values[static_cast<std::size_t>(i - 2)]), 10 * i);
    contribute(1, ix::sum);
  }
  /// The one that loses takes nothing: its message is there for the next who waits.
  ix::task<> any() {
    for (int round = 0; round < 20; ++round) {
      auto winner = co_await ix::when_any(left(round), right(round));
      array()[index()].send<&judge::go_on>(round);
      if (winner.index() == 0) {
        EXPECT_EQ(std::get<0>(std::get<0>(winner)), round);
        auto [text] = co_await right(round);
        EXPECT_EQ(text, std::to_string(round));
      } else {
        EXPECT_EQ(std::get<0>(std::get<1>(winner)), std::to_string(round));
        auto [number] = co_await left(round);
        EXPECT_EQ(number, round);
      }
      co_await go_on(round);
    }
    EXPECT_EQ(left.num_queued() + right.num_queued(), 0u);
    contribute(1, ix::sum);
  }
  /// An abandoned call's answer comes to nobody, later ones to those who asked.
  ix::task<> any_of_calls() {
    const auto next = array()[(index() + 1) % extent()];
    for (int round = 0; round < 20; ++round) {
      std::vector<decltype(next.call<&judge::square>(0))> calls;
      for (int k = 0; k < 4; ++k) calls.push_back(next.call<&judge::square>(round));
      const auto [which, value] = co_await ix::when_any(std::move(calls));
      EXPECT_LT(which, 4u);
      EXPECT_EQ(value, round * round);
      const int after = co_await next.call<&judge::square>(round + 1);
      EXPECT_EQ(after, (round + 1) * (round + 1));
    }
    contribute(1, ix::sum);
  }
  ix::task<> never_comes() {
    const auto next = array()[(index() + 1) % extent()];
    auto call = next.call<&judge::square>(2);
    auto winner = co_await ix::when_any(left(1'000'000), std::move(call));
    EXPECT_EQ(winner.index(), 1u);
    contribute(1, ix::sum);
  }
  int square(int n) { return n * n; }

  ix::when<int, int> left;
  ix::when<int, std::string> right;
  ix::when<int> go_on;
};

ix::task<int> all_of_several(ix::runtime& rt) {
  auto judges = rt.create_array<judge>(ix::index1d(5));
  judges.broadcast<&judge::all>();
  for (int i = 0; i < 5; ++i) {
    for (int k = 7; k >= 2; --k) judges[i].send<&judge::left>(k, 10 * k);
    judges[i].send<&judge::right>(0, "two");
    judges[i].send<&judge::left>(1, 3);
    judges[i].send<&judge::left>(0, 1);
  }
  const int done = co_await judges.reduction<int>();
  EXPECT_EQ(done, 5);
  co_return 0;
}

TEST(when, with_when_all_waits_for_slots_and_calls) { run_over_all_shapes(all_of_several); }

ix::task<int> any_of_several(ix::runtime& rt) {
  auto judges = rt.create_array<judge>(ix::index1d(5));
  judges.broadcast<&judge::any>();
  for (int i = 0; i < 5; ++i) {
    for (int round = 0; round < 20; ++round) {
      if ((round + i) % 2 == 0) judges[i].send<&judge::left>(round, round);
      judges[i].send<&judge::right>(round, std::to_string(round));
      if ((round + i) % 2 != 0) judges[i].send<&judge::left>(round, round);
    }
  }
  int done = co_await judges.reduction<int>();
  judges.broadcast<&judge::any_of_calls>();
  done += co_await judges.reduction<int>();
  judges.broadcast<&judge::never_comes>();
  done += co_await judges.reduction<int>();
  EXPECT_EQ(done, 15);
  co_return 0;
}

TEST(when, with_when_any_leaves_the_losers_their_messages) { run_over_all_shapes(any_of_several); }

/// 64 coroutines of one element at once, resumed out of order.
struct crowd : ix::chare<crowd> {
  ix::task<int> wait_for(int reference) {
    auto [value] = co_await slot(reference);
    co_return value;
  }
  ix::when<int, int> slot;
};

ix::task<int> many_coroutines(ix::runtime& rt) {
  auto one = rt.create_on<crowd>(rt.num_pes() - 1);
  std::vector<decltype(one.call<&crowd::wait_for>(0))> calls;
  for (int i = 0; i < 64; ++i) calls.push_back(one.call<&crowd::wait_for>(i));
  for (int i = 63; i >= 0; --i) one.send<&crowd::slot>((i * 37) % 64, (i * 37) % 64 + 1000);
  const std::vector<int> values = co_await ix::when_all(std::move(calls));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], 1000 + i);
  co_return 0;
}

TEST(when, serves_many_coroutines_of_one_element) { run_over_all_shapes(many_coroutines); }

}  // namespace

}  // namespace when_test
