#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <chrono>
#include <vector>

#include "unit/object/job.h"

namespace broadcast_test {

/// Who hears a broadcast, and in which order with other messages.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using imbrex_test::run_over_all_shapes;

void spin(int us) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::microseconds(us)) {
  }
}

/// Those in which things happen in the order in which they were posted.
const std::vector<job_shape>& ordered_shapes() {
  static const std::vector<job_shape> shapes{{1, 1}, {2, 1}, {3, 1}, {5, 1}, {1, 2}, {2, 2}, {1, 5}, {2, 3}};
  return shapes;
}

template <class Start>
void run_in_order(Start start) {
  for (const job_shape& s : ordered_shapes()) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(imbrex_test::run_job_with(s, start), 0);
  }
}

struct listener : ix::chare<listener, ix::index1d> {
  void set(int v) {
    spin(1);
    value = v;
  }
  int get() { return value; }
  /// Messages numbered by the sender: must come in order.
  void note(int number) {
    spin(2);
    if (number != next) ++errors;
    next = number + 1;
    ++heard;
  }
  void move() { migrate_to((pe() + 1) % num_pes()); }
  void note_and_move(int number) {
    note(number);
    if ((index() + number) % 3 == 0) move();
  }
  void roam(int steps) {
    if (steps == 0) return;
    proxy().send<&listener::roam>(steps - 1);
    migrate_to((pe() + 1 + steps % 2) % num_pes());
  }
  void report() {
    contribute(errors, ix::sum);
    contribute(heard, ix::min);
    contribute(heard, ix::max);
  }
  /// The usual loop: contributes, and one in ten moves.
  void step(int number) {
    contribute(1, ix::sum);
    if ((index() + number) % 10 == 0) move();
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & value & next & errors & heard;
  }
  int value = 0;
  int next = 0;
  int errors = 0;
  int heard = 0;
};

using listeners = ix::array_proxy<listener>;

ix::task<> expect_heard(listeners all, int count) {
  all.broadcast<&listener::report>();
  const int errors = co_await all.reduction<int>();
  const int least = co_await all.reduction<int>();
  const int most = co_await all.reduction<int>();
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(least, count);
  EXPECT_EQ(most, count);
}

ix::task<int> set_then_get(ix::runtime& rt) {
  const auto all = rt.create_array<listener>(ix::index1d(40));
  for (int v = 1; v <= 20; ++v) {
    all.broadcast<&listener::set>(v);
    const int got = co_await all[(7 * v) % 40].call<&listener::get>();
    EXPECT_EQ(got, v);
  }
  co_return 0;
}

TEST(broadcast, is_not_overtaken_by_a_call) { run_in_order(set_then_get); }

ix::task<int> mixed(ix::runtime& rt) {
  constexpr int n = 100;
  const auto all = rt.create_array<listener>(ix::index1d(n));
  for (int k = 0; k < 10; ++k) {
    if (k % 2 == 0) {
      all.broadcast<&listener::note>(k);
    } else {
      for (int i = 0; i < n; ++i) all[i].send<&listener::note>(k);
      co_await rt.quiescence();  // a broadcast may overtake earlier messages to single elements
    }
  }
  co_await expect_heard(all, 10);
  co_return 0;
}

TEST(broadcast, is_not_overtaken_by_messages_to_single_elements) { run_in_order(mixed); }

ix::task<int> before_the_array_is_known(ix::runtime& rt) {
  for (int round = 0; round < 10; ++round) {
    const auto all = rt.create_array<listener>(ix::index1d(30));
    all.broadcast<&listener::set>(5);
    const int got = co_await all[29].call<&listener::get>();
    EXPECT_EQ(got, 5);
  }
  co_return 0;
}

TEST(broadcast, to_an_array_just_created_is_not_overtaken) { run_in_order(before_the_array_is_known); }

ix::task<int> while_they_move(ix::runtime& rt) {
  const auto all = rt.create_array<listener>(ix::index1d(60));
  for (int k = 0; k < 20; ++k) {
    all.broadcast<&listener::note>(k);
    if (k % 4 == 1) all.broadcast<&listener::move>();
  }
  co_await expect_heard(all, 20);
  for (int k = 20; k < 40; ++k) all.broadcast<&listener::note_and_move>(k);
  co_await expect_heard(all, 40);
  co_return 0;
}

TEST(broadcast, is_heard_once_and_in_order_by_elements_that_move) { run_over_all_shapes(while_they_move); }

ix::task<int> while_they_roam(ix::runtime& rt) {
  const auto all = rt.create_array<listener>(ix::index1d(8));
  for (int i = 0; i < 8; ++i) all[i].send<&listener::roam>(200);
  for (int k = 0; k < 60; ++k) {
    all.broadcast<&listener::note>(k);
    co_await all[k % 8].call<&listener::get>();
  }
  co_await expect_heard(all, 60);
  co_return 0;
}

TEST(broadcast, is_heard_once_by_elements_that_never_rest) { run_over_all_shapes(while_they_roam); }

ix::task<int> steps(ix::runtime& rt) {
  constexpr int n = 32;
  const auto all = rt.create_array<listener>(ix::index1d(n));
  for (int k = 0; k < 100; ++k) {
    all.broadcast<&listener::step>(k);
    const int contributed = co_await all.reduction<int>();
    EXPECT_EQ(contributed, n);
  }
  co_return 0;
}

TEST(broadcast, of_a_step_after_which_some_move_reaches_all) { run_over_all_shapes(steps); }

ix::task<int> urgent(ix::runtime& rt) {
  const auto all = rt.create_array<listener>(ix::index1d(20));
  const auto urgently = all.with(ix::priority(-3));
  urgently.broadcast<&listener::set>(3);
  const int first = co_await urgently[19].call<&listener::get>();
  EXPECT_EQ(first, 3);
  co_return 0;
}

TEST(broadcast, can_have_a_priority) { run_in_order(urgent); }

/// A step, its reduction, then somebody new: who must not hear the old step.
struct member : ix::chare<member, ix::index1d> {
  void step(int number) { contribute(number, ix::max); }
};

ix::task<int> late_comers(ix::runtime& rt) {
  const auto all = rt.create_array<member>(ix::empty_array<ix::index1d>());
  for (int k = 0; k < 30; ++k) {
    co_await all.insert_on((3 * k) % rt.num_pes(), k);
    all.broadcast<&member::step>(k);
    const int got = co_await all.reduction<int>();
    EXPECT_EQ(got, k);
  }
  co_return 0;
}

TEST(broadcast, is_not_heard_by_who_is_inserted_afterwards) { run_over_all_shapes(late_comers); }

}  // namespace

}  // namespace broadcast_test
