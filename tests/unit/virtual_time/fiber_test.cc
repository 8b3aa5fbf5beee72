#include "imbrex/virtual_time/core/fiber.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <string>

namespace fiber_test {

namespace {

using imbrex::fibers;

void run(fibers& all) {
  while (!all.all_ended() && all.have_turns()) {
  }
}

TEST(fibers, wait_for_each_other) {
  fibers all;
  std::string order;
  int step = 0;
  all.add(1 << 16, [&] {
    all.wait_until([&] { return step == 1; });
    order += "b";
    step = 2;
  });
  all.add(1 << 16, [&] {
    order += "a";
    step = 1;
    all.wait_until([&] { return step == 2; });
    order += "c";
  });
  run(all);
  EXPECT_TRUE(all.all_ended());
  EXPECT_EQ(order, "abc");
}

TEST(fibers, say_when_none_goes_on) {
  fibers all;
  bool go = false;
  all.add(1 << 16, [&] { all.wait_until([&] { return go; }); });
  EXPECT_TRUE(all.have_turns());
  EXPECT_FALSE(all.have_turns());
  EXPECT_FALSE(all.all_ended());
  go = true;
  run(all);
  EXPECT_TRUE(all.all_ended());
}

TEST(fibers, keep_their_stacks_and_catch_their_exceptions) {
  fibers all;
  constexpr int num = 200;
  std::vector<int> sums(num);
  int arrived = 0;
  for (int i = 0; i < num; ++i) {
    all.add(1 << 17, [&, i] {
      std::array<int, 4000> mine{};
      std::iota(mine.begin(), mine.end(), i);
      ++arrived;
      all.wait_until([&] { return arrived == num; });
      try {
        throw std::runtime_error("mine");
      } catch (const std::runtime_error&) {
        sums[static_cast<std::size_t>(i)] = mine.back() - mine.front();
      }
    });
  }
  run(all);
  EXPECT_TRUE(all.all_ended());
  for (const int s : sums) EXPECT_EQ(s, 3999);
}

}  // namespace

}  // namespace fiber_test
