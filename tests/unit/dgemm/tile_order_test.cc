#include "tile_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tiled_dgemm {
namespace {

TEST(tile_order, every_tile_has_its_turn_on_the_device_of_its_block) {
  for (int rows = 1; rows <= 9; ++rows) {
    for (int columns = 1; columns <= 9; ++columns) {
      for (int devices = 1; devices <= 8; ++devices) {
        const tile_blocks blocks(rows, columns, devices);
        std::set<std::pair<int, int>> seen;
        std::set<int> used;
        for (const placed_tile& t : blocks.in_turns()) {
          EXPECT_TRUE(seen.insert({t.i, t.j}).second);
          EXPECT_EQ(t.device, blocks.device_of(t.i, t.j));
          used.insert(t.device);
        }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(rows * columns));
        EXPECT_EQ(used.size(), static_cast<std::size_t>(blocks.num_blocks()));
        EXPECT_LE(blocks.num_blocks(), devices);
        EXPECT_LT(*used.rbegin(), blocks.num_blocks());
      }
    }
  }
}

TEST(tile_order, blocks_are_as_equal_and_as_square_as_can_be) {
  const tile_blocks four(8, 8, 4);
  EXPECT_EQ(four.num_blocks(), 4);
  EXPECT_EQ(four.device_of(3, 3), 0);
  EXPECT_EQ(four.device_of(3, 4), 1);
  EXPECT_EQ(four.device_of(4, 3), 2);
  EXPECT_EQ(four.device_of(7, 7), 3);
  const tile_blocks flat(2, 8, 4);  // a part of C that is wide: half of a row each would need more of B
  EXPECT_EQ(flat.device_of(0, 0), flat.device_of(1, 1));
  EXPECT_NE(flat.device_of(0, 1), flat.device_of(0, 2));
  const tile_blocks three(6, 6, 3);
  EXPECT_EQ(three.num_blocks(), 3);
}

TEST(tile_order, devices_take_turns_and_begin_with_growing_squares) {
  const std::vector<placed_tile> order = tile_blocks(8, 8, 4).in_turns();
  for (std::size_t turn = 0; turn < order.size(); turn += 4) {
    std::set<int> devices;
    for (std::size_t i = turn; i < turn + 4; ++i) devices.insert(order[i].device);
    EXPECT_EQ(devices.size(), 4U);
  }
  EXPECT_NE(order[0].device, order[4].device);
  std::set<int> rows, columns;  // of device 0: after its first 4 tiles it has met 2 rows and 2 columns
  for (std::size_t i = 0; i < 16; ++i) {
    if (order[i].device != 0) continue;
    rows.insert(order[i].i);
    columns.insert(order[i].j);
  }
  EXPECT_EQ(rows, (std::set<int>{0, 1}));
  EXPECT_EQ(columns, (std::set<int>{0, 1}));
}

}  // namespace
}  // namespace tiled_dgemm
