#include "system/near_atoms.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <vector>

namespace near_atoms_test {

using namespace md;

TEST(md_near_atoms, are_the_same_for_all_instruction_sets) {
  if (best_near_function() != &detail::near_avx512) GTEST_SKIP() << "this machine has no AVX-512";
  std::mt19937 random(1);
  std::uniform_real_distribution<double> place(-3, 3);
  std::vector<double> x, y, z;
  std::vector<std::int32_t> index;
  for (std::int32_t i = 0; i < 500; ++i) {
    x.push_back(place(random));
    y.push_back(place(random));
    z.push_back(place(random));
    index.push_back(1000 + i);
  }
  for (int trial = 0; trial < 200; ++trial) {
    bin_rows rows{.x = x.data(), .y = y.data(), .z = z.data(), .index = index.data()};
    std::int32_t at = static_cast<std::int32_t>(random() % 7);
    for (rows.num = 0; rows.num < 25 && at < 480; ++rows.num) {
      rows.first[rows.num] = at;
      at = std::min(500, at + static_cast<int>(random() % 20));
      rows.last[rows.num] = at;
    }
    std::vector<std::int32_t> a(520), b(520);
    a.resize(static_cast<std::size_t>(detail::near_baseline(rows, 0.1, 0.2, 0.3, 4, a.data()) - a.data()));
    b.resize(static_cast<std::size_t>(detail::near_avx512(rows, 0.1, 0.2, 0.3, 4, b.data()) - b.data()));
    ASSERT_EQ(a, b);
    ASSERT_LE(static_cast<std::int32_t>(a.size()), rows.size());
  }
}

}  // namespace near_atoms_test
