#include "imbrex/base/look_interval.h"

#include <gtest/gtest.h>

namespace look_interval_test {

using imbrex::look_interval;

namespace {

/// Does so many pieces of so many cycles; how many looks there were.
int work(look_interval& interval, std::uint64_t& now, int pieces, std::uint64_t cycles) {
  int looks = 0;
  for (int i = 0; i < pieces; ++i) {
    now += cycles;
    if (!interval.is_due()) continue;
    interval.looked(now);
    ++looks;
  }
  return looks;
}

TEST(look_interval, is_long_for_short_pieces_and_one_for_long_ones) {
  look_interval interval(10'000, 64);
  std::uint64_t now = 1'000'000;
  interval.begin(now);
  EXPECT_EQ(interval.pieces(), 1U);
  work(interval, now, 1000, 10);
  EXPECT_EQ(interval.pieces(), 64U);
  EXPECT_EQ(work(interval, now, 6400, 10), 100);
  work(interval, now, 64, 1'000'000);  // one interval of them is too much, then each is looked at
  EXPECT_EQ(interval.pieces(), 1U);
  EXPECT_EQ(work(interval, now, 50, 1'000'000), 50);
}

TEST(look_interval, meets_its_target_in_between) {
  look_interval interval(10'000, 64);
  std::uint64_t now = 0;
  interval.begin(now);
  work(interval, now, 1000, 700);
  EXPECT_GE(interval.pieces() * 700, 5'000U);
  EXPECT_LE(interval.pieces() * 700, 10'000U);
}

TEST(look_interval, does_not_count_what_was_before_it_began) {
  look_interval interval(10'000, 64);
  std::uint64_t now = 0;
  work(interval, now, 100, 100);
  const unsigned before = interval.pieces();
  now += 1'000'000'000;
  interval.begin(now);
  work(interval, now, static_cast<int>(before), 100);
  EXPECT_GE(interval.pieces(), before);
}

}  // namespace

}  // namespace look_interval_test
