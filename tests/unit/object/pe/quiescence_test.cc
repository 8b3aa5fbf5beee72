#include "imbrex/pe/quiescence.h"

#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <atomic>
#include <chrono>
#include <span>
#include <thread>
#include <vector>

#include "unit/object/job.h"

namespace quiescence_test {

namespace {

namespace ix = imbrex;
using imbrex_test::run_over_all_shapes;

std::atomic<int> sent{0};
std::atomic<int> received{0};

/// Each message makes none to four others, until the energy is spent.
struct storm : ix::chare<storm, ix::index1d> {
  void strike(std::uint64_t seed, int energy) {
    ++received;
    ix::random_sequence random(seed);
    const std::uint64_t fan_out = random.below(5);
    for (std::uint64_t k = 0; k < fan_out && energy > 0; ++k) {
      const int to = static_cast<int>(random.below(static_cast<std::uint64_t>(extent().x)));
      ++sent;
      array()[to]
          .with(ix::priority(static_cast<int>(random.below(16)) - 8))
          .send<&storm::strike>(random.next(), energy - 1);
    }
    if (random.below(16) == 0 && energy > 0) {
      sent += extent().x;
      array().broadcast<&storm::strike>(random.next(), 0);
    }
  }
  ix::task<> ask(ix::element_proxy<storm> whom) {
    co_await rt().quiescence();
    EXPECT_EQ(sent, received);
    whom.send<&storm::asked>(1);
  }
  ix::task<int> count_asked(int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) {
      co_await asked.any();
      ++sum;
    }
    co_return sum;
  }
  ix::when<int> asked;
};

ix::task<int> storms(ix::runtime& rt) {
  auto array = rt.create_array<storm>(ix::index1d(16));
  for (std::uint64_t round = 0; round < 4; ++round) {
    for (int i = 0; i < 16; ++i) {
      ++sent;
      array[i].send<&storm::strike>(ix::mix(round) + static_cast<std::uint64_t>(i), 5);
    }
    co_await rt.quiescence();
    EXPECT_EQ(sent, received);
  }
  co_return 0;
}

TEST(quiescence, comes_when_a_storm_of_messages_has_ended_and_not_before) { run_over_all_shapes(storms); }

ix::task<int> several_ask(ix::runtime& rt) {
  auto array = rt.create_array<storm>(ix::index1d(8));
  auto all = array[0].call<&storm::count_asked>(8);
  for (int i = 0; i < 8; ++i) array[i].send<&storm::ask>(array[0]);
  for (int i = 0; i < 8; ++i) {
    ++sent;
    array[i].send<&storm::strike>(static_cast<std::uint64_t>(i), 4);
  }
  co_await rt.quiescence();
  const int asked = co_await std::move(all);
  EXPECT_EQ(asked, 8);
  co_return 0;
}

TEST(quiescence, is_told_to_all_who_ask_on_any_pe) { run_over_all_shapes(several_ask); }

ix::task<int> at_once(ix::runtime& rt) {
  for (int i = 0; i < 20; ++i) co_await rt.quiescence();
  co_return 0;
}

TEST(quiescence, comes_at_once_when_nothing_happens) { run_over_all_shapes(at_once); }

ix::task<int> return_early(ix::runtime& rt) {
  auto array = rt.create_array<storm>(ix::index1d(16));
  for (int i = 0; i < 16; ++i) {
    ++sent;
    array[i].send<&storm::strike>(static_cast<std::uint64_t>(100 + i), 6);
  }
  co_return 0;
}

TEST(main_chare, that_returns_loses_no_message) {
  for (const imbrex_test::job_shape& s : imbrex_test::all_shapes()) {
    EXPECT_EQ(imbrex_test::run_job_with(s, return_early), 0) << to_text(s);
    EXPECT_EQ(sent, received) << to_text(s);
  }
}

/// An operation of another thread: quiescence waits for it although no message is on its way.
struct patient : ix::chare<patient, ix::index1d> {
  ix::task<> wait() {
    ix::completion happened;
    std::thread other([&happened] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      happened.set();
    });
    co_await happened;
    other.join();
    done = true;
  }
  bool is_done() { return done; }
  bool done = false;
};

ix::task<int> pending_operations(ix::runtime& rt) {
  auto array = rt.create_array<patient>(ix::index1d(3));
  array.broadcast<&patient::wait>();
  co_await rt.quiescence();
  for (int i = 0; i < 3; ++i) {
    const bool done = co_await array[i].call<&patient::is_done>();
    EXPECT_TRUE(done);
  }
  array.broadcast<&patient::wait>();
  co_return 0;
}

TEST(quiescence, waits_for_operations_that_are_no_messages) { run_over_all_shapes(pending_operations); }

/// What waits for an element that is not there can go on only when somebody who waits for quiescence inserts it.
struct late : ix::chare<late, ix::index1d> {
  void greet() { ++greetings; }
  int count() { return greetings; }
  int greetings = 0;
};

ix::task<int> insert_when_quiet(ix::runtime& rt) {
  auto array = rt.create_array<late>(ix::empty_array<ix::index1d>());
  for (int i = 0; i < 4; ++i) array[i].send<&late::greet>();
  co_await rt.quiescence();
  for (int i = 0; i < 4; ++i) array.insert(i);
  co_await rt.quiescence();
  for (int i = 0; i < 4; ++i) {
    const int greetings = co_await array[i].call<&late::count>();
    EXPECT_EQ(greetings, 1);
  }
  co_return 0;
}

TEST(quiescence, does_not_wait_for_messages_whose_element_does_not_exist) { run_over_all_shapes(insert_when_quiet); }

/// Goes on from task to task: between two of them nothing tells of it but its own turn in the queue.
struct stepper : ix::chare<stepper, ix::index1d> {
  ix::task<> run(int steps) {
    ix::hetero_object<int> x(1);
    ix::submit({}, [](std::span<int> v) { v[0] = 0; }, ix::write(x));
    for (int i = 0; i < steps; ++i) co_await ix::submit({}, [](std::span<int> v) { ++v[0]; }, x);
    done_ = true;
  }
  bool is_done() { return done_; }
  bool done_ = false;
};

ix::task<int> many_turns(ix::runtime& rt) {
  auto all = rt.create_array<stepper>(ix::index1d(rt.num_pes()));
  all.broadcast<&stepper::run>(3000);
  co_await rt.quiescence();
  for (int i = 0; i < rt.num_pes(); ++i) {
    const bool is_done = co_await all[i].call<&stepper::is_done>();
    EXPECT_TRUE(is_done) << i;
  }
  co_return 0;
}
TEST(quiescence, waits_for_a_coroutine_that_has_not_had_its_turn) {
  for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5}) {
    EXPECT_EQ(imbrex_test::run_job_with({3, 1, seed}, many_turns), 0) << seed;
    EXPECT_EQ(imbrex_test::run_job_with({1, 2, seed}, many_turns), 0) << seed;
  }
}

}  // namespace

}  // namespace quiescence_test
