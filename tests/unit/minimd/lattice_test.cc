#include "system/lattice.h"

#include <gtest/gtest.h>

#include <set>

#include "model_of.h"
#include "system/random.h"

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
