#include "imbrex/base/topology.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

namespace topology_test {

namespace {

int processors_of_this_thread() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  EXPECT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  return CPU_COUNT(&mask);
}

TEST(topology, orders_every_processor_of_the_mask_once) {
  const std::vector<int>& order = imbrex::processors_in_pinning_order();
  const std::set<int> distinct(order.begin(), order.end());
  EXPECT_EQ(distinct.size(), order.size());
  EXPECT_EQ(static_cast<int>(order.size()), processors_of_this_thread());
  EXPECT_GE(imbrex::available_cores(), 1);
  EXPECT_LE(imbrex::available_cores(), static_cast<int>(order.size()));
  EXPECT_GE(imbrex::available_physical_cores(), 1);
  EXPECT_LE(imbrex::available_physical_cores(), static_cast<int>(order.size()));
}

TEST(topology, pins_and_unpins_the_calling_thread_only) {
  const int all = processors_of_this_thread();
  const int last = imbrex::processors_in_pinning_order().back();
  std::thread([last, all] {
    ASSERT_TRUE(imbrex::pin_this_thread(last));
    EXPECT_EQ(processors_of_this_thread(), 1);
    EXPECT_EQ(sched_getcpu(), last);
    std::thread([all] {
      EXPECT_EQ(processors_of_this_thread(), 1);  // inherited ...
      imbrex::unpin_this_thread();
      EXPECT_EQ(processors_of_this_thread(), all);  // ... and given back
    }).join();
  }).join();
  EXPECT_EQ(processors_of_this_thread(), all);
}

TEST(topology, refuses_a_processor_that_is_not_in_the_mask) {
  EXPECT_FALSE(imbrex::pin_this_thread(-1));
  EXPECT_FALSE(imbrex::pin_this_thread(1 << 20));
}

TEST(topology, gives_every_pe_of_a_host_a_processor_of_its_own) {
  const int n = static_cast<int>(imbrex::processors_in_pinning_order().size());
  std::set<int> used;
  for (int rank = 0; rank < n; ++rank) used.insert(imbrex::processor_for_pe(0, 1, rank, n));
  EXPECT_EQ(static_cast<int>(used.size()), n);
  used.clear();
  for (int i = 0; i < n; ++i) used.insert(imbrex::processor_for_pe(i, n, 0, 1));
  EXPECT_EQ(static_cast<int>(used.size()), n);
}

TEST(topology, does_not_pin_more_pes_than_processors) {
  const int n = static_cast<int>(imbrex::processors_in_pinning_order().size());
  EXPECT_LT(imbrex::processor_for_pe(0, n + 1, 0, 1), 0);
}

TEST(topology, ranks_that_do_not_fit_one_mask_each_use_their_own) {
  const int n = static_cast<int>(imbrex::processors_in_pinning_order().size());
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(imbrex::processor_for_pe(0, n, rank, 2), imbrex::processors_in_pinning_order().front());
  }
}

TEST(topology, knows_memory_and_cache) {
  EXPECT_GT(imbrex::available_host_memory(), 1u << 20);
  EXPECT_LT(imbrex::available_host_memory(), std::uint64_t{1} << 50);
  EXPECT_LT(imbrex::last_level_cache_size(), std::uint64_t{1} << 40);
}

}  // namespace

}  // namespace topology_test
