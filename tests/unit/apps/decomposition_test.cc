#include "decomposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "imbrex/base/error.h"

namespace jacobi {
namespace decomposition_test {
namespace {

/// The least total surface by trying every triple of counts.
std::int64_t least_surface(extents grid, std::int64_t n) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (int cx = 1; cx <= grid.nx && cx <= n; ++cx)
    for (int cy = 1; cy <= grid.ny && cx * cy <= n; ++cy)
      for (int cz = 1; cz <= grid.nz && cx * cy * cz <= n; ++cz)
        if (cx * cy * cz == n) best = std::min(best, decomposition(grid, cx, cy, cz).total_surface());
  return best;
}

TEST(decomposition, least_surface_agrees_with_brute_force) {
  for (extents grid : {extents{8, 8, 8}, extents{16, 3, 5}, extents{1, 7, 30}, extents{12, 12, 2}}) {
    for (std::int64_t n = 1; n <= 40; ++n) {
      const std::int64_t best = least_surface(grid, n);
      EXPECT_EQ(decomposition::possible(grid, n), best != std::numeric_limits<std::int64_t>::max());
      if (!decomposition::possible(grid, n)) continue;
      const decomposition d = decomposition::of_least_surface(grid, n);
      EXPECT_EQ(d.num_blocks(), n);
      EXPECT_EQ(d.total_surface(), best) << grid.nx << ' ' << grid.ny << ' ' << grid.nz << " in " << n;
    }
  }
}

TEST(decomposition, ties_cut_z_before_y_before_x) {
  const decomposition two = decomposition::of_least_surface({8, 8, 8}, 2);
  EXPECT_EQ(std::vector({two.cx(), two.cy(), two.cz()}), std::vector({1, 1, 2}));
  const decomposition four = decomposition::of_least_surface({8, 8, 8}, 4);
  EXPECT_EQ(std::vector({four.cx(), four.cy(), four.cz()}), std::vector({1, 2, 2}));
}

TEST(decomposition, blocks_tile_the_grid_and_differ_by_at_most_one) {
  const extents grid{7, 5, 11};
  const decomposition d(grid, 3, 2, 4);
  std::vector<int> owners(static_cast<std::size_t>(grid.cells()));
  for (std::int64_t n = 0; n < d.num_blocks(); ++n) {
    const box b = d.cells(d.position(n));
    EXPECT_EQ(d.number(d.position(n)), n);
    EXPECT_THAT(b.size.nx, testing::AnyOf(2, 3));
    EXPECT_THAT(b.size.ny, testing::AnyOf(2, 3));
    EXPECT_THAT(b.size.nz, testing::AnyOf(2, 3));
    for (std::int64_t z = b.z0; z < b.z0 + b.size.nz; ++z)
      for (std::int64_t y = b.y0; y < b.y0 + b.size.ny; ++y)
        for (std::int64_t x = b.x0; x < b.x0 + b.size.nx; ++x)
          ++owners.at(static_cast<std::size_t>((z * grid.ny + y) * grid.nx + x));
  }
  EXPECT_THAT(owners, testing::Each(1));
}

TEST(decomposition, neighbours_touch_face_to_face) {
  const decomposition d({9, 8, 7}, 3, 2, 2);
  for (std::int64_t n = 0; n < d.num_blocks(); ++n) {
    for (face side : all_faces) {
      const auto other = d.neighbour(d.position(n), side, false);
      if (!other) continue;
      EXPECT_EQ(d.neighbour(*other, opposite(side), false), d.position(n));
    }
  }
  EXPECT_FALSE(d.neighbour({0, 0, 0}, face::xlo, false));
  EXPECT_EQ(d.neighbour({0, 0, 0}, face::xlo, true), (block_position{2, 0, 0}));
  EXPECT_EQ(d.neighbour({1, 1, 0}, face::yhi, true), (block_position{1, 0, 0}));
  EXPECT_EQ(decomposition({4, 4, 4}, 1, 1, 1).neighbour({0, 0, 0}, face::zhi, true), (block_position{0, 0, 0}));
}

std::string refusal(extents grid, std::int64_t n) {
  try {
    decomposition::of_least_surface(grid, n);
  } catch (const imbrex::usage_error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(decomposition, impossible_counts_name_the_nearest_that_work) {
  EXPECT_THAT(refusal({4, 4, 4}, 7), testing::EndsWith("use 6 or 8"));
  EXPECT_THAT(refusal({4, 4, 4}, 0), testing::HasSubstr("at least 1"));
  EXPECT_THAT(refusal({4, 4, 4}, -3), testing::HasSubstr("-3"));
  EXPECT_THAT(refusal({4, 4, 4}, 65), testing::EndsWith("use at most 64"));
  EXPECT_THAT(refusal({4, 4, 4}, std::int64_t{1} << 40), testing::HasSubstr("too many"));
  EXPECT_THROW(decomposition({4, 4, 4}, 5, 1, 1), imbrex::usage_error);
}

}  // namespace
}  // namespace decomposition_test
}  // namespace jacobi
