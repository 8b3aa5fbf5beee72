#include "imbrex/async/ready_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace ready_queue_test {

namespace {

using imbrex::priority;
using imbrex::ready_queue;
using imbrex::work;

std::vector<work> items(std::size_t n) { return std::vector<work>(n); }

std::vector<work*> pop_all(ready_queue& q) {
  std::vector<work*> order;
  while (work* w = q.pop()) order.push_back(w);
  return order;
}

TEST(ready_queue, gives_equal_priorities_in_order_of_arrival) {
  ready_queue q;
  auto w = items(4);
  for (work& i : w) q.push(&i);
  EXPECT_EQ(q.size(), 4u);
  EXPECT_EQ(pop_all(q), (std::vector<work*>{&w[0], &w[1], &w[2], &w[3]}));
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(q.pop(), nullptr);
}

TEST(ready_queue, gives_the_most_urgent_first) {
  ready_queue q;
  auto w = items(5);
  const int levels[] = {priority::least_urgent, 0, priority::most_urgent, -4, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    w[i].set_priority(priority(levels[i]));
    q.push(&w[i]);
  }
  EXPECT_EQ(pop_all(q), (std::vector<work*>{&w[2], &w[3], &w[1], &w[4], &w[0]}));
}

TEST(ready_queue, clamps_priorities) {
  EXPECT_EQ(priority(-100).value, priority::most_urgent);
  EXPECT_EQ(priority(100).value, priority::least_urgent);
}

TEST(ready_queue, does_not_forget_the_less_urgent_while_the_urgent_never_end) {
  ready_queue q;
  auto w = items(4);
  const int levels[] = {-4, 0, 3, priority::least_urgent};
  for (std::size_t i = 0; i < 4; ++i) {
    w[i].set_priority(priority(levels[i]));
    q.push(&w[i]);
  }
  std::vector<int> taken(4, 0);
  for (int n = 0; n < 100'000; ++n) {
    work* const got = q.pop();
    ++taken[static_cast<std::size_t>(got - w.data())];
    q.push(got);  // it comes again and again
  }
  for (std::size_t i = 1; i < 4; ++i) EXPECT_GE(taken[i], 8) << "level " << levels[i];
  EXPECT_GE(taken[0], 99'900) << "hardly later for that";
}

TEST(ready_queue, can_be_refilled_between_pops) {
  ready_queue q;
  auto w = items(3);
  q.push(&w[0]);
  EXPECT_EQ(q.pop(), &w[0]);
  q.push(&w[1]);
  q.push(&w[0]);
  EXPECT_EQ(q.pop(), &w[1]);
  q.push(&w[2]);
  EXPECT_EQ(pop_all(q), (std::vector<work*>{&w[0], &w[2]}));
}

TEST(ready_queue, takes_items_back_in_front_of_their_priority) {
  ready_queue q;
  auto w = items(5);
  for (work& i : w) i.set_priority(priority(1));
  w[4].set_priority(priority(0));
  q.push_front(&w[2]);
  q.push(&w[3]);
  q.push_front(&w[1]);
  q.push_front(&w[0]);
  q.push(&w[4]);
  EXPECT_EQ(pop_all(q), (std::vector<work*>{&w[4], &w[0], &w[1], &w[2], &w[3]}));
  EXPECT_TRUE(q.empty());
  q.push_front(&w[0]);
  q.push(&w[1]);
  EXPECT_EQ(pop_all(q), (std::vector<work*>{&w[0], &w[1]}));
}

TEST(ready_queue, removes_first_middle_and_last) {
  for (std::size_t victim = 0; victim < 3; ++victim) {
    ready_queue q;
    auto w = items(4);
    for (std::size_t i = 0; i < 3; ++i) q.push(&w[i]);
    EXPECT_TRUE(q.remove(&w[victim]));
    EXPECT_FALSE(q.remove(&w[victim]));
    EXPECT_EQ(q.size(), 2u);
    q.push(&w[3]);  // the end of the list is still right
    std::vector<work*> expected;
    for (std::size_t i = 0; i < 4; ++i) {
      if (i != victim) expected.push_back(&w[i]);
    }
    EXPECT_EQ(pop_all(q), expected);
  }
}

TEST(ready_queue, removing_the_only_item_empties_it) {
  ready_queue q;
  auto w = items(2);
  q.push(&w[0]);
  EXPECT_FALSE(q.remove(&w[1]));
  EXPECT_TRUE(q.remove(&w[0]));
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(q.pop(), nullptr);
}

std::vector<std::size_t> shuffled_order(std::uint64_t seed) {
  ready_queue q;
  q.set_schedule_seed(seed);
  auto w = items(40);
  for (std::size_t i = 0; i < w.size(); ++i) {
    w[i].set_priority(priority(static_cast<int>(i % 5) - 2));
    q.push(&w[i]);
  }
  std::vector<std::size_t> order;
  for (work* p : pop_all(q)) order.push_back(static_cast<std::size_t>(p - w.data()));
  EXPECT_TRUE(q.empty());
  return order;
}

TEST(ready_queue, a_seed_permutes_repeatably) {
  const auto first = shuffled_order(7);
  EXPECT_EQ(first, shuffled_order(7));
  EXPECT_NE(first, shuffled_order(8));
  EXPECT_NE(first, shuffled_order(0));
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
}

TEST(ready_queue, shuffling_keeps_the_lists_sound_while_they_are_refilled) {
  ready_queue q;
  q.set_schedule_seed(3);
  auto w = items(16);
  for (work& i : w) q.push(&i);
  for (int round = 0; round < 1000; ++round) {
    work* p = q.pop();
    ASSERT_NE(p, nullptr);
    p->set_priority(priority(round % 16 - 8));
    q.push(p);
    ASSERT_EQ(q.size(), w.size());
  }
  EXPECT_EQ(pop_all(q).size(), w.size());
}

}  // namespace

}  // namespace ready_queue_test
