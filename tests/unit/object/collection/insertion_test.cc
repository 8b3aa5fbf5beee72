#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <atomic>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace insertion_test {

namespace {

namespace ix = imbrex;
using imbrex_test::run_over_all_shapes;
using testing::HasSubstr;

std::atomic<int> alive{0};

/// An array with an extent takes no element outside it, and none without a place.
struct bounded : ix::chare<bounded, ix::index1d> {};

ix::task<int> beyond_extent(ix::runtime& rt) {
  auto a = rt.create_array<bounded>(ix::index1d(4));
  try {
    co_await a.insert(4);
    ADD_FAILURE() << "an element outside the extent was inserted";
  } catch (const ix::usage_error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(HasSubstr("could not be inserted"),
                                         HasSubstr("bounded has no element (4): its extent is (4)"),
                                         HasSubstr("ix::empty_array")));
  }
  co_return 0;
}

TEST(insertion, outside_the_extent_is_an_error) { run_over_all_shapes(beyond_extent); }

struct item : ix::chare<item, ix::index1d> {
  explicit item(int v) : value(v) { ++alive; }
  ~item() override { --alive; }
  int get() { return value; }
  int where() { return pe(); }
  void add(int n) { value += n; }
  void sum() { contribute(value, ix::sum); }
  void many_sums(int count) {
    for (int k = 0; k < count; ++k) contribute(1, ix::sum);
  }
  ix::task<> wait_for_ever() { co_await never(0); }
  void leave() { destroy(); }
  void sum_and_leave() {
    contribute(value, ix::sum);
    destroy();
  }
  void insert_next(int levels) {
    if (levels > 0) array().insert(index() + 1, value + 1);
    if (levels > 0) array()[index() + 1].send<&item::insert_next>(levels - 1);
  }
  int value;
  ix::when<int> never;
};

using items = ix::array_proxy<item>;
items empty(ix::runtime& rt) { return rt.create_array<item>(ix::empty_array<ix::index1d>()); }

ix::task<int> inserted(ix::runtime& rt) {
  items a = empty(rt);
  for (int i = 0; i < 20; i += 2) co_await a.insert(i, i);
  for (int i = 1; i < 20; i += 2) a.insert(i, i);  // nobody waits; messages find it all the same
  for (int i = 0; i < 20; ++i) {
    const int value = co_await a[i].call<&item::get>();
    EXPECT_EQ(value, i);
  }
  a.broadcast<&item::sum>();
  const int sum = co_await a.reduction<int>();
  EXPECT_EQ(sum, 190);
  EXPECT_EQ(alive, 20);
  co_return 0;
}

TEST(insertion, makes_elements_whether_or_not_it_is_awaited) {
  run_over_all_shapes(inserted);
  EXPECT_EQ(alive, 0);
}

ix::task<int> on_a_pe(ix::runtime& rt) {
  items a = empty(rt);
  for (int i = 0; i < 3 * rt.num_pes(); ++i) {
    co_await a.insert_on(i % rt.num_pes(), i, 1);
    const int where = co_await a[i].call<&item::where>();
    EXPECT_EQ(where, i % rt.num_pes());
  }
  a.broadcast<&item::sum>();
  const int sum = co_await a.reduction<int>();
  EXPECT_EQ(sum, 3 * rt.num_pes());
  EXPECT_THROW(a.insert_on(rt.num_pes(), 5, 1), ix::usage_error);
  EXPECT_THROW(a.insert_on(-2, 5, 1), ix::usage_error);
  co_return 0;
}

TEST(insertion, can_choose_the_pe) { run_over_all_shapes(on_a_pe); }

ix::task<int> message_first(ix::runtime& rt) {
  items a = empty(rt);
  for (int i = 0; i < 6; ++i) {
    for (int k = 0; k < 10; ++k) a[i].send<&item::add>(1);
  }
  for (int i = 0; i < 6; ++i) co_await a.insert_on((i + 1) % rt.num_pes(), i, 100);
  co_await rt.quiescence();
  for (int i = 0; i < 6; ++i) {
    const int value = co_await a[i].call<&item::get>();
    EXPECT_EQ(value, 110);
  }
  co_return 0;
}

TEST(insertion, delivers_messages_that_came_before) { run_over_all_shapes(message_first); }

ix::task<int> call_first(ix::runtime& rt) {
  items a = empty(rt);
  std::vector<decltype(a[0].call<&item::get>())> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(a[i].call<&item::get>());
  struct later {
    static ix::task<> insert_four(items array) {
      for (int i = 3; i >= 0; --i) co_await array.insert(i, 7 * i);
    }
  };
  auto values = ix::when_all(std::move(calls));
  auto insertions = later::insert_four(a);
  const auto both = co_await ix::when_all(std::move(values), std::move(insertions));
  EXPECT_THAT(std::get<0>(both), testing::ElementsAre(0, 7, 14, 21));
  co_return 0;
}

TEST(insertion, answers_calls_that_came_before) { run_over_all_shapes(call_first); }

ix::task<int> by_elements(ix::runtime& rt) {
  items a = empty(rt);
  co_await a.insert(0, 0);
  a[0].send<&item::insert_next>(30);
  co_await rt.quiescence();
  a.broadcast<&item::sum>();
  const int sum = co_await a.reduction<int>();
  EXPECT_EQ(sum, 31 * 30 / 2);
  co_return 0;
}

TEST(insertion, can_be_made_by_elements) { run_over_all_shapes(by_elements); }

ix::task<int> deleted(ix::runtime& rt) {
  items a = empty(rt);
  for (int i = 0; i < 12; ++i) co_await a.insert(i, i);
  for (int i = 0; i < 12; i += 3) a[i].erase();
  for (int i = 1; i < 12; i += 3) a[i].send<&item::leave>();
  a[2].send<&item::wait_for_ever>();
  co_await rt.quiescence();
  a[2].send<&item::leave>();
  co_await rt.quiescence();
  EXPECT_EQ(alive, 3);
  a.broadcast<&item::sum>();
  const int sum = co_await a.reduction<int>();
  EXPECT_EQ(sum, 5 + 8 + 11);
  co_return 0;
}

TEST(deletion, ends_elements_and_their_coroutines) { run_over_all_shapes(deleted); }

ix::task<int> reductions_follow(ix::runtime& rt) {
  items a = empty(rt);
  int expected = 0;
  for (int i = 0; i < 10; ++i) {
    co_await a.insert_on((7 * i) % rt.num_pes(), i, i);
    expected += i;
    a.broadcast<&item::sum>();
    const int sum = co_await a.reduction<int>();
    EXPECT_EQ(sum, expected);
    co_await rt.quiescence();  // until the broadcast has been everywhere, so that the next element does not get it
  }
  a.broadcast<&item::many_sums>(20);
  for (int k = 0; k < 20; ++k) {
    const int count = co_await a.reduction<int>();
    EXPECT_EQ(count, 10);
  }
  for (int i = 9; i > 0; --i) {
    a[i].send<&item::sum_and_leave>();
    for (int k = 0; k < i; ++k) a[k].send<&item::sum>();
    const int sum = co_await a.reduction<int>();
    EXPECT_EQ(sum, expected);
    expected -= i;
    co_await rt.quiescence();
  }
  co_return 0;
}

TEST(insertion, and_deletion_are_counted_by_reductions) { run_over_all_shapes(reductions_follow); }

ix::task<int> filled_array_grows(ix::runtime& rt) {
  auto a = rt.create_array<item>(ix::index1d(8), 1);
  a.broadcast<&item::sum>();
  int sum = co_await a.reduction<int>();
  EXPECT_EQ(sum, 8);
  a[3].erase();
  a[6].erase();
  co_await rt.quiescence();
  a.broadcast<&item::sum>();
  sum = co_await a.reduction<int>();
  EXPECT_EQ(sum, 6);
  co_await rt.quiescence();
  co_await a.insert_on(rt.num_pes() - 1, 3, 10);
  a.broadcast<&item::sum>();
  sum = co_await a.reduction<int>();
  EXPECT_EQ(sum, 16);
  co_return 0;
}

TEST(deletion, works_in_arrays_that_began_full) { run_over_all_shapes(filled_array_grows); }

ix::task<int> again_and_again(ix::runtime& rt) {
  items a = empty(rt);
  for (int round = 0; round < 8; ++round) {
    co_await a.insert_on((3 * round) % rt.num_pes(), 5, round);
    const int value = co_await a[5].call<&item::get>();
    EXPECT_EQ(value, round);
    const int where = co_await a[5].call<&item::where>();
    EXPECT_EQ(where, (3 * round) % rt.num_pes());
    a.broadcast<&item::sum>();
    const int sum = co_await a.reduction<int>();
    EXPECT_EQ(sum, round);
    a[5].erase();
    co_await rt.quiescence();
  }
  EXPECT_EQ(alive, 0);
  co_return 0;
}

TEST(insertion, of_a_deleted_index_makes_a_new_element) { run_over_all_shapes(again_and_again); }

ix::task<int> call_deleted(ix::runtime& rt) {
  items a = empty(rt);
  for (int i = 0; i < 4; ++i) co_await a.insert_on((i + 1) % rt.num_pes(), i, i);
  for (int i = 0; i < 4; ++i) a[i].erase();
  co_await rt.quiescence();
  for (int i = 0; i < 4; ++i) {
    try {
      const int value = co_await a[i].call<&item::get>();
      ADD_FAILURE() << "a deleted element said " << value;
    } catch (const ix::usage_error& e) {
      EXPECT_THAT(e.what(), HasSubstr("item::get"));
      EXPECT_THAT(e.what(), HasSubstr(fmt::format("item({})", i)));
      EXPECT_THAT(e.what(), HasSubstr("deleted"));
    }
  }
  co_return 0;
}

TEST(deletion, makes_a_call_throw) { run_over_all_shapes(call_deleted); }

ix::task<int> send_deleted(ix::runtime& rt) {
  items a = empty(rt);
  co_await a.insert_on(rt.num_pes() - 1, 4, 0);
  a[4].erase();
  co_await rt.quiescence();
  a[4].send<&item::add>(1);
  co_await rt.quiescence();
  co_return 0;
}

TEST(deletion, makes_a_send_end_the_job_with_a_report) {
  for (const imbrex_test::job_shape& s : imbrex_test::all_shapes()) {
    const auto [code, errors] = imbrex_test::run_and_listen(s, send_deleted);
    EXPECT_EQ(code, 70) << to_text(s);
    EXPECT_THAT(errors, HasSubstr("item::add"));
    EXPECT_THAT(errors, HasSubstr("item(4), which has been deleted"));
  }
}

ix::task<int> twice(ix::runtime& rt, int pe) {
  items a = empty(rt);
  for (int first = 0; first < rt.num_pes(); ++first) {
    co_await a.insert_on(first, first, 7);
    try {
      co_await a.insert_on(pe, first, 8);
      ADD_FAILURE() << "a second element was inserted";
    } catch (const ix::usage_error& e) {
      EXPECT_THAT(e.what(), HasSubstr(fmt::format("item({}) was inserted, but it exists already", first)));
    }
  }
  a.broadcast<&item::sum>();
  const int sum = co_await a.reduction<int>();
  EXPECT_EQ(sum, 7 * rt.num_pes());
  a.insert(0, 9);
  co_await rt.quiescence();
  co_return 0;
}

TEST(insertion, of_an_index_that_exists_is_an_error) {
  for (const imbrex_test::job_shape& s : imbrex_test::all_shapes()) {
    for (const int pe : {0, s.pes * s.ranks - 1}) {
      const auto [code, errors] = imbrex_test::run_and_listen(s, twice, pe);
      EXPECT_EQ(code, 70) << to_text(s);
      EXPECT_THAT(errors, HasSubstr("item(0) was inserted, but it exists already"));
    }
  }
}

/// Contributes when it is made.
struct newcomer : ix::chare<newcomer, ix::index1d> {
  newcomer() { contribute(1, ix::sum); }
  void again() { contribute(10, ix::sum); }
};

ix::task<int> contributes_in_constructor(ix::runtime& rt) {
  auto a = rt.create_array<newcomer>(ix::empty_array<ix::index1d>());
  for (int i = 0; i < 7; ++i) {
    co_await a.insert_on(i % rt.num_pes(), i);
    for (int k = 0; k < i; ++k) a[k].send<&newcomer::again>();
    const int sum = co_await a.reduction<int>();
    EXPECT_EQ(sum, 10 * i + 1);
  }
  co_return 0;
}

TEST(insertion, lets_constructors_contribute) { run_over_all_shapes(contributes_in_constructor); }

ix::task<int> ended_and_made_again(ix::runtime& rt) {
  items a = empty(rt);
  for (int round = 0; round < 50; ++round) {
    a.insert_on(round % rt.num_pes(), 7, round);  // nobody waits for this
    a[7].send<&item::add>(1000);                  // waits for the new one, whatever is known of the old
    co_await rt.quiescence();
    const int value = co_await a[7].call<&item::get>();
    EXPECT_EQ(value, round + 1000);
    a[7].erase();
    if (round % 2 == 0) co_await rt.quiescence();
  }
  co_await rt.quiescence();
  EXPECT_EQ(alive, 0);
  co_return 0;
}

TEST(insertion, of_an_index_that_is_about_to_end_waits_for_that) {
  for (const imbrex_test::job_shape& s : imbrex_test::all_shapes()) {
    if (s.seed != 0 || s.delay_us != 0) continue;  // a send may come before the erase of the one before
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(imbrex_test::run_job_with(s, ended_and_made_again), 0);
  }
}

ix::task<int> call_before_return(ix::runtime& rt) {
  items a = empty(rt);
  co_await a.insert(3, 1);
  a[3].erase();
  co_await rt.quiescence();
  auto call = a[3].call<&item::get>();
  struct later {
    static ix::task<> insert(items array) { co_await array.insert(3, 42); }
  };
  auto insertion = later::insert(a);
  const auto both = co_await ix::when_all(std::move(call), std::move(insertion));
  EXPECT_EQ(std::get<0>(both), 42);
  co_return 0;
}

TEST(insertion, answers_calls_to_an_index_that_comes_again) { run_over_all_shapes(call_before_return); }

}  // namespace

}  // namespace insertion_test
