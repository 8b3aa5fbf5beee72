#include "imbrex/pe/idle_counts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace idle_counts_test {

using namespace imbrex;

namespace {

TEST(idle_counts, are_there_while_published) {
  idle_counts c;
  EXPECT_FALSE(c.read().has_value());
  c.publish({.created = 3, .processed = 2, .pending = 1, .failed = 7});
  EXPECT_TRUE(c.published());
  ASSERT_TRUE(c.read().has_value());
  EXPECT_EQ(c.read()->counts.created, 3U);
  EXPECT_EQ(c.read()->counts.failed, 7U);
  const std::uint64_t epoch = c.read()->epoch;
  EXPECT_TRUE(c.still(epoch));
  c.withdraw();
  EXPECT_FALSE(c.published());
  EXPECT_FALSE(c.read().has_value());
  EXPECT_FALSE(c.still(epoch));
  c.publish({});
  EXPECT_FALSE(c.still(epoch));
}

TEST(idle_counts, are_of_one_moment) {
  idle_counts c;
  std::atomic<bool> over{false};
  std::thread pe([&] {
    for (std::uint64_t n = 1; n <= 200'000; ++n) {
      c.publish({n, n, n, n, n, n, n});
      c.withdraw();
    }
    over = true;
  });
  std::uint64_t last = 0;
  while (!over) {
    const auto read = c.read();
    if (!read) continue;
    const pe_counts* const seen = &read->counts;
    ASSERT_EQ(seen->created, seen->failed);
    ASSERT_EQ(seen->processed, seen->waiting);
    ASSERT_EQ(seen->created, seen->held);
    ASSERT_GE(seen->created, last);
    last = seen->created;
  }
  pe.join();
}

}  // namespace

}  // namespace idle_counts_test
