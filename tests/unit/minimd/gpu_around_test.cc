#include "gpu/gpu_around.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "imbrex/base/error.h"

namespace gpu_around_test {

namespace {

using namespace md;

using image = std::tuple<box_index, std::array<int, 3>>;  // a box, and how what goes there is shifted

std::array<int, 3> shift_of(unsigned code) {
  return {static_cast<int>(code % 3) - 1, static_cast<int>(code / 3 % 3) - 1, static_cast<int>(code / 9) - 1};
}

/// Those of `gpu_around`, each target once.
std::set<image> targets_of(const gpu_around& a) {
  std::set<image> all;
  for (std::size_t p = 0; p < a.boxes.size(); ++p)
    for (int t = a.first[p]; t < a.first[p + 1]; ++t)
      EXPECT_TRUE(all.emplace(a.boxes[p], shift_of(a.targets.image[t])).second);
  EXPECT_EQ(static_cast<int>(all.size()), a.targets.num);
  return all;
}

/// What `domain` exchanges with, but for images in directions that are not cut.
std::set<image> links_of(const decomposition& d, const box_index& where) {
  std::set<image> all;
  for (const box_index& offset : d.offsets()) {
    bool crosses_only_cuts = true;
    for (int k = 0; k < 3; ++k) crosses_only_cuts = crosses_only_cuts && (offset[k] == 0 || d.boxes()[k] > 1);
    if (!crosses_only_cuts) continue;
    const auto n = d.at_offset(where, offset);
    all.emplace(n.box, n.shift);
  }
  return all;
}

TEST(gpu_around, has_all_images_of_the_boxes_around) {
  for (const box_index cut : {box_index{1, 1, 1}, {1, 1, 2}, {2, 1, 3}, {2, 2, 2}, {3, 3, 3}, {4, 1, 1}, {5, 2, 3}}) {
    const decomposition d({15, 16, 17}, cut, 2.8);
    for (std::int64_t b = 0; b < d.num_boxes(); ++b) {
      const box_index where = d.box_at(b);
      EXPECT_EQ(targets_of(gpu_around(d, where)), links_of(d, where)) << testing::PrintToString(cut);
    }
  }
}

TEST(gpu_around, names_each_box_once_and_those_know_this_one) {
  const decomposition d({15, 16, 17}, {2, 3, 4}, 2.8);
  for (std::int64_t b = 0; b < d.num_boxes(); ++b) {
    const box_index where = d.box_at(b);
    const gpu_around here(d, where);
    EXPECT_TRUE(std::ranges::is_sorted(here.boxes, {}, [&](const box_index& i) { return d.number_of(i); }));
    for (std::size_t p = 0; p < here.boxes.size(); ++p) {
      EXPECT_NE(here.boxes[p], where);
      EXPECT_EQ(here.place_of(here.boxes[p]), static_cast<int>(p));
      const gpu_around there(d, here.boxes[p]);
      EXPECT_LT(there.place_of(where), static_cast<int>(there.boxes.size()));
    }
  }
}

TEST(gpu_around, refuses_boxes_that_are_narrower_than_atoms_act) {
  const decomposition d({15, 16, 17}, {1, 8, 1}, 2.8);
  try {
    static_cast<void>(gpu_around(d, {0, 0, 0}));
    FAIL() << "8 boxes are 2 wide";
  } catch (const imbrex::usage_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("8 boxes in y are 2 wide"));
    EXPECT_THAT(e.what(), testing::HasSubstr("use fewer chares"));
  }
}

TEST(bricks_of, fill_the_box_and_are_no_narrower_than_atoms_act) {
  for (const box_index cut : {box_index{1, 1, 1}, {1, 2, 3}, {5, 5, 5}}) {
    const decomposition d({15, 30, 61}, cut, 2.8);
    for (std::int64_t n = 0; n < d.num_boxes(); ++n) {
      const gpu_bricks b = bricks_of(d, d.box_at(n), 0.8442);
      for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(b.num[k] * b.side[k], b.hi[k] - b.lo[k], 1e-12);
        EXPECT_GE(b.side[k], std::min(2.8, b.hi[k] - b.lo[k]));
        EXPECT_EQ(b.cut[k], cut[k] > 1);
        EXPECT_LT(b.far_lo[k], b.lo[k]);
        EXPECT_GT(b.far_hi[k], b.hi[k]);
      }
      std::int64_t padded = 1;
      for (int k = 0; k < 3; ++k) padded *= b.num[k] + (b.cut[k] ? 2 : 0);
      EXPECT_EQ(b.padded_count(), padded);
    }
  }
}

// Far enough from the borders for no atom there to have ghosts, or to be one, each brick being as wide as atoms act.
TEST(brick_order, has_each_brick_once_and_those_at_borders_that_are_cut_first) {
  for (const box_index cut : {box_index{1, 1, 1}, {1, 1, 2}, {2, 1, 3}, {2, 2, 2}, {4, 1, 1}}) {
    const decomposition d({90, 71, 82.6}, cut, 2.8);
    for (std::int64_t k = 0; k < d.num_boxes(); ++k) {
      const gpu_bricks b = bricks_of(d, d.box_at(k), 0.8442);
      const brick_order order(b);
      ASSERT_EQ(std::ssize(order.bricks), b.count());
      EXPECT_EQ(std::set<std::uint32_t>(order.bricks.begin(), order.bricks.end()).size(), order.bricks.size());
      for (std::uint32_t n = 0; n < order.bricks.size(); ++n) {
        const auto brick = static_cast<int>(order.bricks[n]);
        const int place[3] = {brick % b.num[0], brick / b.num[0] % b.num[1], brick / b.num[0] / b.num[1]};
        bool at_border = false;
        for (int i = 0; i < 3; ++i) {
          const double before = place[i] * b.side[i], behind = (b.num[i] - 1 - place[i]) * b.side[i];
          at_border = at_border || (b.cut[i] && std::min(before, behind) < b.reach);
        }
        EXPECT_EQ(n < order.num_outer, at_border) << "brick " << brick;
      }
    }
  }
}

TEST(brick_order, two_layers_where_bricks_are_just_as_wide_as_atoms_act) {
  const decomposition d({28, 28, 56}, {1, 1, 2}, 2.8);
  gpu_bricks b = bricks_of(d, {0, 0, 0}, 0.8442);
  b.num[2] = 10;
  b.side[2] = b.reach;
  EXPECT_EQ(brick_order(b).num_outer, static_cast<std::uint32_t>(4 * b.num[0] * b.num[1]));
}

}  // namespace

}  // namespace gpu_around_test
