#include "imbrex/object/halo/neighbours.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace neighbours_test {

namespace {

using namespace imbrex;

TEST(neighbours, of_a_corner_are_as_many_as_it_has_sides) {
  EXPECT_EQ(neighbours(index1d(0), index1d(5)).size(), 1u);
  EXPECT_EQ(neighbours(index1d(2), index1d(5)).size(), 2u);
  EXPECT_EQ(neighbours(index2d{0, 0}, index2d{3, 3}).size(), 2u);
  EXPECT_EQ(neighbours(index2d{1, 1}, index2d{3, 3}, {.diagonal = true, .periodic = {}}).size(), 8u);
  EXPECT_EQ(neighbours(index3d{0, 0, 0}, index3d{2, 2, 2}, {.diagonal = true, .periodic = {}}).size(), 7u);
  EXPECT_EQ(neighbours(index3d{0, 1, 0}, index3d{2, 3, 1}, {.diagonal = true, .periodic = {true, true, true}}).size(),
            26u);
  EXPECT_EQ(neighbours(index3d{0, 0, 0}, index3d{1, 1, 1}).size(), 0u);
}

TEST(neighbours, are_in_the_order_of_their_ports) {
  const auto all = neighbours(index2d{1, 1}, index2d{3, 3});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].index, (index2d{1, 0}));
  EXPECT_EQ(all[1].index, (index2d{0, 1}));
  EXPECT_EQ(all[2].index, (index2d{2, 1}));
  EXPECT_EQ(all[3].index, (index2d{1, 2}));
}

TEST(neighbours, know_how_much_of_an_element_is_next_to_them) {
  for (const auto& n : neighbours(index3d{1, 1, 1}, index3d{3, 3, 3}, {.diagonal = true, .periodic = {}})) {
    const std::size_t x = n.offset[0] == 0 ? 10 : 2, y = n.offset[1] == 0 ? 20 : 2, z = n.offset[2] == 0 ? 30 : 2;
    EXPECT_EQ(n.cells({10, 20, 30}, 2), x * y * z);
  }
}

// Each port of each element is met by one port of one other, which names it as its peer.
TEST(neighbours, agree_about_their_ports) {
  for (const index3d extent : {index3d{1, 1, 1}, {2, 1, 3}, {4, 2, 2}, {3, 3, 3}}) {
    for (int bits = 0; bits < 16; ++bits) {
      const neighbourhood how{.diagonal = (bits & 8) != 0,
                              .periodic = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}};
      using end = std::pair<std::uint64_t, int>;
      std::map<end, end> peer_of;
      for (std::uint64_t i = 0; i < volume(extent); ++i) {
        const index3d at{static_cast<int>(i) % extent.x, static_cast<int>(i) / extent.x % extent.y,
                         static_cast<int>(i) / extent.x / extent.y};
        for (const auto& n : neighbours(at, extent, how)) {
          ASSERT_TRUE(inside(n.index, extent));
          const bool is_new = peer_of.emplace(end{i, n.port}, end{linear(n.index, extent), n.peer_port}).second;
          EXPECT_TRUE(is_new);
        }
      }
      for (const auto& [one, other] : peer_of) {
        const auto back = peer_of.find(other);
        ASSERT_NE(back, peer_of.end());
        EXPECT_EQ(back->second, one);
      }
    }
  }
}

}  // namespace

}  // namespace neighbours_test
