#include "imbrex/object/seeds/seed_deque.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace seed_deque_test {

using namespace imbrex;

namespace {

/// Seeds that are told from each other by their arrows in the trace.
std::vector<std::unique_ptr<seed_work>> make_seeds(std::uint64_t n) {
  std::vector<std::unique_ptr<seed_work>> all;
  for (std::uint64_t i = 0; i < n; ++i) {
    all.push_back(std::make_unique<seed_work>());
    all.back()->flow = i;
  }
  return all;
}

std::vector<std::uint64_t> numbers_of(const seed_work* chain) {
  std::vector<std::uint64_t> all;
  for (; chain != nullptr; chain = chain->following()) all.push_back(chain->flow);
  return all;
}

TEST(seed_deque, gives_its_pe_the_newest_and_others_the_oldest_half) {
  const auto seeds = make_seeds(9);
  seed_deque d;
  for (const auto& s : seeds) d.push(s.get());
  EXPECT_EQ(d.size(), 9u);
  EXPECT_EQ(d.pop_newest()->flow, 8u);
  EXPECT_EQ(d.take_offer(), nullptr);
  d.offer();
  EXPECT_TRUE(d.is_offering());
  EXPECT_EQ(d.size(), 4u);
  EXPECT_EQ(numbers_of(d.take_offer()), (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_FALSE(d.is_offering());
  EXPECT_EQ(d.take_offer(), nullptr);
  EXPECT_EQ(d.pop_newest()->flow, 7u);
  d.offer();  // of three, two
  EXPECT_EQ(numbers_of(d.take_offer()), (std::vector<std::uint64_t>{4, 5}));
  d.offer();  // the last one
  EXPECT_TRUE(d.empty());
  EXPECT_EQ(numbers_of(d.take_offer()), (std::vector<std::uint64_t>{6}));
}

TEST(seed_deque, offers_a_few_of_many) {
  const auto seeds = make_seeds(1000);
  seed_deque d;
  for (const auto& s : seeds) d.push(s.get());
  d.offer();
  EXPECT_EQ(numbers_of(d.take_offer()).size(), seed_deque::largest_offer);
  EXPECT_EQ(d.size(), 1000 - seed_deque::largest_offer);
  EXPECT_EQ(numbers_of(d.split_off(3)), (std::vector<std::uint64_t>{32, 33, 34}));
}

TEST(seed_deque, grows_while_it_goes_round) {
  const auto seeds = make_seeds(5000);
  seed_deque d;
  std::uint64_t oldest = 0, made = 0;
  while (made < seeds.size()) {
    for (int i = 0; i < 7 && made < seeds.size(); ++i) d.push(seeds[made++].get());
    ASSERT_EQ(d.pop_oldest()->flow, oldest++);
  }
  while (!d.empty()) ASSERT_EQ(d.pop_newest()->flow, --made);
  EXPECT_EQ(made, oldest);
}

/// One PE makes and takes, others take what it offers: each seed comes once.
TEST(seed_deque, gives_each_seed_to_one_thread) {
  constexpr std::uint64_t n = 200'000;
  const auto seeds = make_seeds(n);
  std::vector<std::atomic<int>> times(n);
  std::atomic<bool> over{false};
  seed_deque d;
  const auto take = [&] {
    for (const std::uint64_t e : numbers_of(d.take_offer())) times[e].fetch_add(1, std::memory_order_relaxed);
  };
  std::vector<std::thread> thieves;
  for (int i = 0; i < 3; ++i) {
    thieves.emplace_back([&] {
      while (!over.load()) {
        take();
        std::this_thread::yield();
      }
    });
  }
  for (std::uint64_t i = 0; i < n; ++i) {
    d.push(seeds[i].get());
    if (!d.is_offering()) d.offer();
    if (i % 3 == 0 && !d.empty()) times[d.pop_newest()->flow].fetch_add(1, std::memory_order_relaxed);
  }
  over = true;
  for (std::thread& t : thieves) t.join();
  take();
  while (!d.empty()) times[d.pop_newest()->flow].fetch_add(1, std::memory_order_relaxed);
  for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(times[i].load(), 1) << i;
}

}  // namespace

}  // namespace seed_deque_test
