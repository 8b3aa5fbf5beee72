#include "imbrex/async/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "imbrex/base/clock.h"

namespace executor_test {

namespace {

using imbrex::executor;
using imbrex::priority;
using imbrex::work;
using imbrex::work_action;

struct counter : work {
  counter() {
    act = [](work* w, work_action) { ++static_cast<counter*>(w)->runs; };
  }
  int runs = 0;
};

/// Makes the calling thread the owner for the length of a test.
struct ownership {
  explicit ownership(executor& e) { executor::set_current(&e); }
  ~ownership() { executor::set_current(nullptr); }
};

TEST(executor, runs_its_owners_posts_without_the_inbox) {
  executor e;
  ownership own(e);
  EXPECT_EQ(executor::current(), &e);
  counter c;
  e.post(&c);
  EXPECT_TRUE(e.inbox_empty());
  EXPECT_TRUE(e.has_ready());
  EXPECT_EQ(e.next(), &c);
  EXPECT_EQ(e.next(), nullptr);
}

TEST(executor, collects_what_other_threads_post_in_order_and_by_priority) {
  executor e;
  ownership own(e);
  counter a, b, urgent;
  urgent.set_priority(priority(-3));
  std::thread([&] {
    EXPECT_EQ(executor::current(), nullptr);
    e.post(&a);
    e.post(&b);
    e.post(&urgent);
  }).join();
  EXPECT_EQ(e.next(), nullptr);  // not collected yet
  EXPECT_TRUE(e.collect());
  EXPECT_FALSE(e.collect());
  EXPECT_EQ(e.next(), &urgent);
  EXPECT_EQ(e.next(), &a);
  EXPECT_EQ(e.next(), &b);
}

TEST(executor, an_executor_of_another_thread_is_posted_to_through_its_inbox) {
  executor mine, other;
  ownership own(mine);
  counter c;
  other.post(&c);
  EXPECT_FALSE(mine.has_ready());
  EXPECT_FALSE(other.inbox_empty());
  other.collect();
  EXPECT_EQ(other.next(), &c);
}

TEST(executor, sleep_ends_at_its_time_limit) {
  executor e;
  ownership own(e);
  const std::int64_t start = imbrex::now_ns();
  e.sleep(20'000);
  const std::int64_t slept = imbrex::now_ns() - start;
  EXPECT_GE(slept, 10'000'000);
  counter c;
  std::thread([&] { e.post(&c); }).join();  // the mark was taken back
  EXPECT_TRUE(e.collect());
  EXPECT_EQ(e.next(), &c);
}

TEST(executor, does_not_sleep_when_something_is_there) {
  executor e;
  ownership own(e);
  counter local, remote;
  e.post(&local);
  e.sleep(-1);
  EXPECT_EQ(e.next(), &local);
  std::thread([&] { e.post(&remote); }).join();
  e.sleep(-1);
  EXPECT_TRUE(e.collect());
  EXPECT_EQ(e.next(), &remote);
}

TEST(executor, a_post_wakes_a_sleeper) {
  executor e;
  ownership own(e);
  counter c;
  std::thread poster([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    e.post(&c);
  });
  while (!e.collect()) e.sleep(-1);
  EXPECT_EQ(e.next(), &c);
  poster.join();
}

TEST(executor, no_wake_up_is_lost_between_many_threads) {
  constexpr int posters = 3, each = 3000;
  executor e;
  ownership own(e);
  std::vector<std::vector<counter>> items(posters);
  for (auto& list : items) list.resize(each);
  std::vector<std::thread> threads;
  for (auto& list : items) {
    threads.emplace_back([&e, &list] {
      for (std::size_t i = 0; i < list.size(); ++i) {
        e.post(&list[i]);
        if (i % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
  }
  for (int done = 0; done < posters * each;) {
    if (!e.collect()) e.sleep(-1);  // hangs here if a wake-up is lost
    while (work* w = e.next()) {
      w->act(w, work_action::run);
      ++done;
    }
  }
  for (std::thread& t : threads) t.join();
  for (const auto& list : items) {
    for (const counter& c : list) ASSERT_EQ(c.runs, 1);
  }
}

TEST(executor, two_executors_play_ping_pong) {
  constexpr int rounds = 2000;
  struct ball : work {
    int bounces = 0;
  };
  executor sides[2];
  ball b;
  std::atomic<bool> over{false};
  const auto play = [&](std::size_t me) {
    executor::set_current(&sides[me]);
    while (!over.load(std::memory_order_relaxed)) {
      if (!sides[me].collect()) {
        sides[me].sleep(1000);
        continue;
      }
      auto* got = static_cast<ball*>(sides[me].next());
      if (++got->bounces == rounds) {
        over.store(true, std::memory_order_relaxed);
      } else {
        sides[1 - me].post(got);
      }
    }
    executor::set_current(nullptr);
  };
  sides[0].post(&b);
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(b.bounces, rounds);
}

TEST(executor, withdraws_from_queue_and_inbox) {
  executor e;
  ownership own(e);
  counter a, b;
  e.post(&a);
  e.withdraw(&a);
  EXPECT_FALSE(e.has_ready());
  std::thread([&] { e.post(&b); }).join();
  e.withdraw(&b);
  EXPECT_EQ(e.next(), nullptr);
}

TEST(executor, withdraw_waits_for_a_post_that_is_under_way) {
  executor e;
  ownership own(e);
  counter c;
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    e.post(&c);
  });
  e.withdraw(&c);
  EXPECT_FALSE(e.has_ready());
  EXPECT_TRUE(e.inbox_empty());
  late.join();
}

}  // namespace

}  // namespace executor_test
