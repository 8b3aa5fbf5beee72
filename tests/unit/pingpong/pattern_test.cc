#include "pattern.h"

#include <gtest/gtest.h>

#include <vector>

namespace pingpong {
namespace pattern_test {
namespace {

std::vector<std::byte> message(std::size_t bytes, std::uint64_t round, int player) {
  std::vector<std::byte> m(bytes);
  fill_pattern(m.data(), bytes, round, player);
  return m;
}

TEST(pattern, holds_for_any_size_and_finds_every_byte) {
  for (const std::size_t bytes : {1, 3, 8, 13, 4096}) {
    std::vector<std::byte> m = message(bytes, 5, 1);
    EXPECT_EQ(count_wrong(m.data(), bytes, 5, 1), 0);
    m.back() ^= std::byte{1};
    EXPECT_EQ(count_wrong(m.data(), bytes, 5, 1), 1);
  }
}

TEST(pattern, of_another_round_player_or_place_is_wrong) {
  const std::vector<std::byte> m = message(4096, 5, 1);
  EXPECT_GT(count_wrong(m.data(), 4096, 6, 1), 4000);
  EXPECT_GT(count_wrong(m.data(), 4096, 5, 0), 4000);
  EXPECT_GT(count_wrong(m.data() + 8, 4088, 5, 1), 4000);
}

}  // namespace
}  // namespace pattern_test
}  // namespace pingpong
