#include "system/lattice.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>

#include "model_of.h"
#include "system/initial_state.h"
#include "system/random.h"

namespace lattice_test {

using namespace md;

TEST(md_lattice, is_the_same_however_it_is_cut) {
  const problem p = md_test::small_problem(5);
  const lattice all(p);
  std::map<std::int64_t, atom_record> whole;
  all.for_each_within({0, 0, 0}, all.lengths(), [&](const atom_record& a) { whole[a.id] = a; });
  EXPECT_EQ(whole.size(), 500u);
  EXPECT_EQ(all.num_atoms(), 500);
  const decomposition cut(all.lengths(), {3, 2, 7}, 2.8);
  std::size_t num = 0;
  for (std::int64_t n = 0; n < cut.num_boxes(); ++n) {
    const box_index b = cut.box_at(n);
    vector3 lo{}, hi{};
    for (int d = 0; d < 3; ++d) {
      lo[d] = cut.begin_of(d, b[d]);
      hi[d] = cut.begin_of(d, b[d] + 1);
    }
    all.for_each_within(lo, hi, [&](const atom_record& a) {
      ++num;
      ASSERT_EQ(whole.count(a.id), 1u);
      EXPECT_EQ(whole[a.id].position, a.position);
      EXPECT_EQ(whole[a.id].velocity, a.velocity);
    });
  }
  EXPECT_EQ(num, 500u);
}

TEST(md_lattice, random_numbers_are_those_of_park_and_miller) {
  park_miller random(1);
  random.skip(9999);
  EXPECT_DOUBLE_EQ(random.next() * 2147483647.0, 1043618065.0);  // their check of an implementation
}

TEST(md_lattice, seeds_beyond_32_bits_are_seeds_like_others) {
  std::set<double> seen;
  for (std::int64_t seed = 1LL << 31; seed < (1LL << 31) + 1000; ++seed) {
    park_miller random(seed);
    random.skip(5);
    const double v = random.next();
    EXPECT_GT(v, 0);
    EXPECT_LE(v, 1);
    seen.insert(v);
  }
  EXPECT_GT(seen.size(), 998u);
}

TEST(md_lattice, with_an_imbalance_is_emptier_below_and_cut_in_any_way_the_same) {
  problem p = md_test::small_problem(12);
  p.imbalance = 16;
  const lattice all(p);
  const vector3 l = all.lengths();
  std::set<std::int64_t> whole;
  std::array<int, 4> quarter{};
  all.for_each_within({0, 0, 0}, l, [&](const atom_record& a) {
    whole.insert(a.id);
    ++quarter[static_cast<std::size_t>(4 * a.position[2] / l[2])];
  });
  EXPECT_EQ(all.num_atoms(), static_cast<std::int64_t>(whole.size()));
  EXPECT_NEAR(all.full_density(), p.density, 1e-9);
  // 1728 sites a quarter; the shares of an exponential that falls by 16: 1/2 a quarter, 0.7213 of a full one in the
  // top.
  double expected = 1728 * 0.7213;
  for (std::size_t q = 4; q-- > 0; expected /= 2) EXPECT_NEAR(quarter[q], expected, 5 * std::sqrt(expected)) << q;
  std::set<std::int64_t> cut;
  all.for_each_within({0, 0, 0}, {l[0], l[1], l[2] / 3}, [&](const atom_record& a) { cut.insert(a.id); });
  all.for_each_within({0, 0, l[2] / 3}, l, [&](const atom_record& a) { EXPECT_TRUE(cut.insert(a.id).second); });
  EXPECT_EQ(cut, whole);
}

TEST(md_lattice, of_atoms_from_a_file_the_densest_place_counts) {
  initial_atoms a;
  a.box_lo = {-5, 0, 0};
  for (int i = 0; i < 500; ++i) {  // in an eighth of the box, given a period further on in x
    const int x = i % 10, y = i / 10 % 10, z = i / 100;
    a.positions.push_back({15 + 0.5 * x, 0.5 * y, 1.0 * z});
  }
  EXPECT_DOUBLE_EQ(densest_of(a, {10, 10, 10}, 5), 4);
  EXPECT_DOUBLE_EQ(densest_of(a, {10, 10, 10}, 100), 0.5) << "one cube: the mean";
}

}  // namespace lattice_test
