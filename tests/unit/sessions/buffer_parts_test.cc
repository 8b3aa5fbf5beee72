#include "driver/buffer_parts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace imbrex::sessions {

namespace buffer_parts_test {

namespace {

buffer_parts three_parts() { return buffer_parts({{{0, 8}}, {{8, 8}}, {{16, 4}, {32, 4}}}); }

}  // namespace

TEST(BufferParts, KnowsItsPartsAndTheirData) {
  const buffer_parts parts = three_parts();
  EXPECT_EQ(parts.size(), 3);
  EXPECT_EQ(parts.data_of(1).front().offset, 8);
  EXPECT_EQ(parts.data_of(2).size(), 2U);
  EXPECT_TRUE(parts.has(2));
  EXPECT_FALSE(parts.has(3));
  EXPECT_FALSE(parts.has(-1));
}

TEST(BufferParts, AreTheProgramsBeforeTheFirstTurn) {
  buffer_parts parts = three_parts();
  EXPECT_TRUE(parts.any_taken());
  EXPECT_FALSE(parts.take(0));
}

TEST(BufferParts, AreTakenOnceInEachTurn) {
  buffer_parts parts = three_parts();
  for (int turn = 0; turn < 2; ++turn) {
    parts.begin();
    EXPECT_FALSE(parts.any_taken());
    EXPECT_TRUE(parts.take(1));
    EXPECT_TRUE(parts.any_taken());
    parts.give(1);
    EXPECT_FALSE(parts.take(1));
    EXPECT_TRUE(parts.take(0));
    parts.give(0);
  }
}

TEST(BufferParts, WhoComesSecondWaitsForTheCopy) {
  for (int turn = 0; turn < 200; ++turn) {
    buffer_parts parts = three_parts();
    std::atomic<int> taken{0};
    bool copied[3] = {};
    parts.begin();
    const auto take_all = [&] {
      for (int i = 0; i < 3; ++i) {
        if (parts.take(i)) {
          copied[i] = true;
          ++taken;
          parts.give(i);
        }
        EXPECT_TRUE(copied[i]);
      }
    };
    std::thread other(take_all);
    take_all();
    other.join();
    EXPECT_EQ(taken, 3);
  }
}

}  // namespace buffer_parts_test

}  // namespace imbrex::sessions
