#include "imbrex/async/completion.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "imbrex/async/task.h"
#include "unit/async/bare_pe.h"

namespace completion_test {

namespace {

using imbrex::completion;
using imbrex::task;
using imbrex_test::bare_pe;
using imbrex_test::started;

task<> wait_for(completion* c, int* passed) {
  co_await *c;
  ++*passed;
}

TEST(completion, does_not_suspend_when_it_has_happened) {
  bare_pe pe;
  completion c;
  EXPECT_FALSE(c.is_set());
  c.set();
  EXPECT_TRUE(c.is_set());
  int passed = 0;
  started s(wait_for(&c, &passed));
  EXPECT_EQ(passed, 1);
  EXPECT_TRUE(s.ended());
}

TEST(completion, resumes_through_the_queue_and_not_inside_set) {
  bare_pe pe;
  completion c;
  int passed = 0;
  started s(wait_for(&c, &passed));
  ASSERT_NE(s.first_waiter, nullptr);
  EXPECT_EQ(s.first_waiter->describe(s.first_waiter), "a completion");
  c.set();
  EXPECT_EQ(passed, 0);
  EXPECT_EQ(pe.run(), 1);
  EXPECT_EQ(passed, 1);
  EXPECT_EQ(s.first_waiter, nullptr);
}

task<> note_running(completion* c, std::vector<imbrex::activity*>* seen) {
  seen->push_back(imbrex::executor::current()->running);
  co_await *c;
  seen->push_back(imbrex::executor::current()->running);
}

TEST(completion, the_chain_that_runs_is_known_while_it_runs) {
  bare_pe pe;
  completion c;
  std::vector<imbrex::activity*> seen;
  started s(note_running(&c, &seen));
  EXPECT_EQ(pe.queue.running, nullptr);
  c.set();
  pe.run();
  EXPECT_EQ(pe.queue.running, nullptr);
  EXPECT_EQ(seen, (std::vector<imbrex::activity*>{&s, &s}));
}

TEST(completion, set_on_another_thread_wakes_the_pe) {
  bare_pe pe;
  completion c;
  int passed = 0;
  started s(wait_for(&c, &passed));
  std::thread setter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    c.set();
  });
  pe.run_until([&] { return s.ended(); });
  EXPECT_EQ(passed, 1);
  setter.join();
}

TEST(completion, races_between_set_and_wait_lose_nothing) {
  constexpr std::size_t n = 3000;
  bare_pe pe;
  std::vector<completion> all(n);
  std::atomic<std::size_t> reached{0};
  std::thread setter([&] {
    for (std::size_t i = 0; i < n; ++i) {
      while (reached.load(std::memory_order_acquire) < i) std::this_thread::yield();
      all[i].set();
    }
  });
  int passed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    reached.store(i, std::memory_order_release);
    started s(wait_for(&all[i], &passed));
    pe.run_until([&] { return s.ended(); });
  }
  setter.join();
  EXPECT_EQ(passed, static_cast<int>(n));
}

TEST(completion, an_awaiter_destroyed_before_set_is_forgotten) {
  bare_pe pe;
  completion c;
  int passed = 0;
  {
    started s(wait_for(&c, &passed));
    s.destroy();
    EXPECT_EQ(s.first_waiter, nullptr);
  }
  c.set();
  EXPECT_EQ(pe.run(), 0);
  EXPECT_EQ(passed, 0);
}

TEST(completion, an_awaiter_destroyed_after_set_leaves_the_queue) {
  bare_pe pe;
  completion c;
  int passed = 0;
  started s(wait_for(&c, &passed));
  c.set();
  EXPECT_TRUE(pe.queue.has_ready());
  s.destroy();
  EXPECT_FALSE(pe.queue.has_ready());
  EXPECT_EQ(passed, 0);
}

TEST(completion, an_awaiter_whose_turn_was_discarded_can_be_destroyed) {
  bare_pe pe;
  completion c;
  int passed = 0;
  started s(wait_for(&c, &passed));
  c.set();
  pe.queue.collect();
  imbrex::work* const turn = pe.queue.next();
  turn->act(turn, imbrex::work_action::discard);  // as at the end of a job
  s.destroy();
  EXPECT_EQ(passed, 0);
}

TEST(completion, an_awaiter_destroyed_while_another_thread_sets_is_safe) {
  bare_pe pe;
  int passed = 0;
  for (int round = 0; round < 500; ++round) {
    completion c;
    std::atomic<bool> go{false};
    started s(wait_for(&c, &passed));
    std::thread setter([&] {
      while (!go.load(std::memory_order_acquire)) {
      }
      c.set();
    });
    go.store(true, std::memory_order_release);
    if (round % 2 == 0) std::this_thread::yield();
    s.destroy();
    setter.join();
    EXPECT_EQ(pe.run(), 0);
  }
  EXPECT_EQ(passed, 0);
}

}  // namespace

}  // namespace completion_test
