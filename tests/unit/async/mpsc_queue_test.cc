#include "imbrex/async/mpsc_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace mpsc_queue_test {

namespace {

using imbrex::mpsc_queue;
using imbrex::work;

TEST(mpsc_queue, gives_all_oldest_first) {
  mpsc_queue q;
  work w[3];
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(q.take_all(), nullptr);
  for (work& i : w) EXPECT_FALSE(q.push(&i));
  EXPECT_FALSE(q.empty());
  work* first = q.take_all();
  ASSERT_EQ(first, &w[0]);
  EXPECT_EQ(first->next, &w[1]);
  EXPECT_EQ(w[1].next, &w[2]);
  EXPECT_EQ(w[2].next, nullptr);
  EXPECT_TRUE(q.empty());
}

TEST(mpsc_queue, only_the_push_that_finds_the_sleeper_reports_it) {
  mpsc_queue q;
  work w[2];
  EXPECT_TRUE(q.declare_asleep());
  EXPECT_TRUE(q.empty());
  EXPECT_TRUE(q.push(&w[0]));
  EXPECT_FALSE(q.push(&w[1]));
  q.declare_awake();  // too late: changes nothing
  work* first = q.take_all();
  ASSERT_EQ(first, &w[0]);
  EXPECT_EQ(first->next, &w[1]);
  EXPECT_EQ(w[1].next, nullptr);
}

TEST(mpsc_queue, does_not_sleep_on_a_filled_inbox) {
  mpsc_queue q;
  work w;
  EXPECT_FALSE(q.push(&w));
  EXPECT_FALSE(q.declare_asleep());
  EXPECT_EQ(q.take_all(), &w);
}

TEST(mpsc_queue, the_mark_can_be_taken_back) {
  mpsc_queue q;
  work w;
  EXPECT_TRUE(q.declare_asleep());
  q.declare_awake();
  EXPECT_FALSE(q.push(&w));
  EXPECT_EQ(q.take_all(), &w);
  EXPECT_TRUE(q.declare_asleep());
  EXPECT_EQ(q.take_all(), nullptr);  // taking clears the mark, too
  EXPECT_FALSE(q.push(&w));
}

struct numbered : work {
  int producer = 0;
  int number = 0;
};

TEST(mpsc_queue, keeps_the_order_of_each_of_many_producers) {
  constexpr int producers = 4, each = 20'000;
  mpsc_queue q;
  std::vector<std::vector<numbered>> items(producers);
  for (int p = 0; p < producers; ++p) {
    items[static_cast<std::size_t>(p)].resize(each);
    for (int i = 0; i < each; ++i) {
      auto& item = items[static_cast<std::size_t>(p)][static_cast<std::size_t>(i)];
      item.producer = p;
      item.number = i;
    }
  }
  std::atomic<int> wakes{0};
  std::vector<std::thread> threads;
  for (auto& own : items) {
    threads.emplace_back([&q, &own, &wakes] {
      for (numbered& item : own) {
        if (q.push(&item)) wakes.fetch_add(1);
      }
    });
  }
  std::vector<int> next(producers, 0);
  int taken = 0, sleeps = 0;
  while (taken < producers * each) {
    if (q.empty() && q.declare_asleep()) {
      ++sleeps;
      while (q.empty()) std::this_thread::yield();
    }
    work* w = q.take_all();
    while (w != nullptr) {
      auto* item = static_cast<numbered*>(w);
      w = w->next;
      ASSERT_EQ(item->number, next[static_cast<std::size_t>(item->producer)]++);
      ++taken;
    }
  }
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(wakes.load(), sleeps);  // every sleep is ended by exactly one push
}

}  // namespace

}  // namespace mpsc_queue_test
