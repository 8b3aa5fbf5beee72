#include "gpu/expected_atoms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "imbrex/base/error.h"
#include "model_of.h"

namespace expected_atoms_test {

namespace {

using namespace md;
using md_test::model_of;
using md_test::small_problem;

model cut_into(const problem& p, const box_index& cut) { return model_of(p, {.cut = cut}); }

/// How many atoms of the box at `where` are within reach of the one at `offset`, where each is anywhere.
std::uint32_t counted(const model& m, const box_index& where, const signed char (&offset)[3]) {
  std::mt19937_64 random(1);
  const std::int64_t own = m.scale.num_atoms / m.boxes.num_boxes();
  std::uint32_t num = 0;
  for (std::int64_t i = 0; i < own; ++i) {
    double square = 0;
    for (int d = 0; d < 3; ++d) {
      const double lo = m.boxes.begin_of(d, where[d]), hi = m.boxes.begin_of(d, where[d] + 1);
      const double x = std::uniform_real_distribution<double>(lo, hi)(random);
      const double gap = offset[d] < 0 ? x - lo : offset[d] > 0 ? hi - x : 0.0;
      square += gap * gap;
    }
    if (square < m.boxes.reach() * m.boxes.reach()) ++num;
  }
  return num;
}

TEST(expected_atoms, are_about_as_many_as_there_are) {
  const model m = cut_into(small_problem(24), {2, 2, 2});
  const gpu_around around(m.boxes, {0, 0, 0});
  const expected_atoms e(m, {0, 0, 0}, around.targets);
  EXPECT_EQ(e.own, 24u * 24 * 24 * 4 / 8);
  for (int k = 0; k < around.targets.num; ++k) {
    const auto there = static_cast<double>(counted(m, {0, 0, 0}, around.targets.offset[k]));
    const auto said = static_cast<double>(e.ghosts[k + 1] - e.ghosts[k]);
    EXPECT_NEAR(said, there, 4 * std::sqrt(there)) << k;
    EXPECT_LT(e.leavers[k + 1] - e.leavers[k], 0.1 * said + 1);
  }
}

TEST(expected_atoms, of_all_boxes_are_all_atoms_and_come_where_they_are_sent) {
  const model m = cut_into(small_problem(13), {3, 1, 2});
  std::int64_t all = 0;
  for (std::int64_t b = 0; b < m.boxes.num_boxes(); ++b) {
    const box_index where = m.boxes.box_at(b);
    const gpu_around around(m.boxes, where);
    const expected_atoms e(m, where, around.targets);
    all += e.own;
    std::uint32_t coming = 0;
    for (const box_index& from : around.boxes) {
      const gpu_around there(m.boxes, from);
      const expected_atoms theirs(m, from, there.targets);
      const int p = there.place_of(where);
      coming += theirs.leavers[there.first[p + 1]] - theirs.leavers[there.first[p]];
    }
    EXPECT_GT(coming, 0u);
    EXPECT_EQ(coming, e.leavers.back());
  }
  EXPECT_EQ(all, m.scale.num_atoms);
}

TEST(expected_atoms, are_refused_where_there_must_be_real_ones) {
  problem p = small_problem(8);
  EXPECT_NO_THROW(check_expected(p, false, false, false));
  EXPECT_THROW(check_expected(p, true, false, false), imbrex::usage_error);
  EXPECT_THROW(check_expected(p, false, true, false), imbrex::usage_error);
  EXPECT_THROW(check_expected(p, false, false, true), imbrex::usage_error);
  p.imbalance = 4;
  EXPECT_THROW(check_expected(p, false, false, false), imbrex::usage_error);
}

}  // namespace

}  // namespace expected_atoms_test
