#include "system/neighbour_lists.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "boxes.h"
#include "model_of.h"

namespace neighbour_lists_test {

using namespace md;
using namespace md_test;

namespace {

/// How often each ordered pair of ids stands in lists, over all boxes.
std::map<std::pair<std::int64_t, std::int64_t>, int> pairs_in_lists(boxes& b, const model& m) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> pairs;
  for (auto& d : b.all()) {
    neighbour_lists lists(m.boxes.reach(), m.lists);
    lists.build(d->atoms(), d->lo(), d->hi());
    for (std::int32_t i = 0; i < d->num_atoms(); ++i)
      for (const std::int32_t* j = lists.begin_of(i); j != lists.end_of(i); ++j)
        if (*j < d->atoms().num_all()) ++pairs[{d->atoms().id[i], d->atoms().id[*j]}];
  }
  return pairs;
}

/// The same by looking at all pairs and all images.
std::map<std::pair<std::int64_t, std::int64_t>, int> pairs_in_reach(boxes& b, const model& m) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> pairs;
  const vector3& l = m.boxes.lengths();
  std::vector<std::pair<std::int64_t, vector4>> all;
  for (auto& d : b.all())
    for (std::int32_t i = 0; i < d->num_atoms(); ++i) all.emplace_back(d->atoms().id[i], d->atoms().x[i]);
  for (const auto& [i, p] : all)
    for (const auto& [j, q] : all)
      for (int x = -1; x <= 1; ++x)
        for (int y = -1; y <= 1; ++y)
          for (int z = -1; z <= 1; ++z) {
            if (i == j && x == 0 && y == 0 && z == 0) continue;
            const double dx = p.x - (q.x + x * l[0]), dy = p.y - (q.y + y * l[1]), dz = p.z - (q.z + z * l[2]);
            if (dx * dx + dy * dy + dz * dz < m.boxes.reach() * m.boxes.reach()) ++pairs[{i, j}];
          }
  return pairs;
}

}  // namespace

class md_lists : public testing::TestWithParam<way> {};

TEST_P(md_lists, hold_all_pairs_in_reach) {
  problem p = small_problem(3);
  p.skin = 0.31;  // no lattice distance is the reach
  const way& w = GetParam();
  const model m = model_of(p, w);
  boxes b(m);
  for (int i = 0; i < 7; ++i) b.step();  // off the lattice, and atoms outside of their boxes
  p.reneighbour_every = 1;
  const model often = model_of(p, w);
  boxes c(often);
  for (int i = 0; i < 7; ++i) c.step();
  const auto expected = pairs_in_reach(c, often), found = pairs_in_lists(c, often);
  if (w.rule.style == list_style::full) {
    EXPECT_EQ(found, expected);
    return;
  }
  for (const auto& [ids, times] : expected) {  // once in one of the two boxes, or, with ghosts, in both
    const auto one = found.find(ids), other = found.find({ids.second, ids.first});
    const int sum = (one != found.end() ? one->second : 0) + (other != found.end() ? other->second : 0);
    if (ids.first == ids.second) {
      EXPECT_GE(sum, times);
    } else if (w.rule.ghost_newton) {
      EXPECT_EQ(sum, times) << ids.first << " and " << ids.second;
    } else {
      EXPECT_GE(sum, times);
      EXPECT_LE(sum, 2 * times);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    ways, md_lists,
    testing::Values(way{}, way{{2, 1, 1}, {}}, way{{3, 2, 5}, {}}, way{{3, 2, 5}, {}, exchange_style::rounds},
                    way{{1, 1, 1}, {list_style::half, true}}, way{{3, 2, 5}, {list_style::half, true}},
                    way{{3, 2, 5}, {list_style::half, true}, exchange_style::rounds},
                    way{{1, 1, 1}, {list_style::half, false}}, way{{2, 2, 2}, {list_style::half, false}}));

}  // namespace neighbour_lists_test
