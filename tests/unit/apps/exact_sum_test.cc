#include "support/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "field/block_field.h"
#include "field/change_sum.h"

namespace jacobi {
namespace exact_sum_test {
namespace {

__extension__ typedef __float128 quad;

double sum_of(const std::vector<double>& values) {
  apps::exact_sum s;
  for (double v : values) s.add(v);
  return s.to_double();
}

std::vector<double> random_values(unsigned seed, int count, int least_exponent, int most_exponent) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(least_exponent, most_exponent);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& v : values) v = std::ldexp(mantissa(random), exponent(random));
  return values;
}

TEST(exact_sum, agrees_with_quad_precision) {
  // Values within 2^20 of each other: __float128 adds a thousand of them exactly.
  for (unsigned seed = 0; seed < 50; ++seed) {
    const std::vector<double> values = random_values(seed, 1000, -10, 10);
    quad exact = 0;
    for (double v : values) exact += v;
    EXPECT_EQ(sum_of(values), static_cast<double>(exact));
  }
}

TEST(exact_sum, single_values_come_back) {
  const double smallest = std::numeric_limits<double>::denorm_min(), largest = std::numeric_limits<double>::max();
  for (double v : {0.0, 1.0, -1.0, smallest, -smallest, 3 * smallest, largest, -largest, 0x1p-1022,
                   0x1.fffffffffffffp-1, 1e300, -1e-300, 0x1p31, 0x1p32, 0x1p64})
    EXPECT_EQ(sum_of({v}), v);
}

TEST(exact_sum, cancels_exactly) {
  EXPECT_EQ(sum_of({1e300, 1.0, -1e300}), 1.0);
  EXPECT_EQ(sum_of({1e300, -1e-300, -1e300}), -1e-300);
  EXPECT_EQ(sum_of({std::numeric_limits<double>::max(), std::numeric_limits<double>::max(),
                    -std::numeric_limits<double>::max()}),
            std::numeric_limits<double>::max());
}

TEST(exact_sum, rounds_to_nearest_even) {
  EXPECT_EQ(sum_of({1.0, 0x1p-53}), 1.0);                             // a tie, down to even
  EXPECT_EQ(sum_of({1.0 + 0x1p-52, 0x1p-53}), 1.0 + 0x1p-51);         // a tie, up to even
  EXPECT_EQ(sum_of({1.0, 0x1p-53, 0x1p-1074}), 1.0 + 0x1p-52);        // just above the tie
  EXPECT_EQ(sum_of({-1.0, -0x1p-53, -0x1p-1000}), -(1.0 + 0x1p-52));  // and for negative sums
  EXPECT_EQ(sum_of({1.0, 0x1p-53, -0x1p-1074}), 1.0);                 // just below it
  EXPECT_EQ(sum_of({0x1.fffffffffffffp-1, 0x1p-54}), 1.0);            // a carry into the next power
  EXPECT_EQ(sum_of({std::numeric_limits<double>::max(), std::numeric_limits<double>::max()}),
            std::numeric_limits<double>::infinity());
}

TEST(exact_sum, order_and_grouping_do_not_matter) {
  std::vector<double> values = random_values(3, 2000, -600, 600);
  const double expected = sum_of(values);
  std::mt19937 random(1);
  for (int trial = 0; trial < 10; ++trial) {
    std::shuffle(values.begin(), values.end(), random);
    apps::exact_sum whole;
    apps::exact_sum::limb_array added{};
    for (std::size_t start = 0; start < values.size(); start += 173) {
      apps::exact_sum part;
      for (std::size_t i = start; i < std::min(values.size(), start + 173); ++i) part.add(values[i]);
      whole.merge(part);
      const auto limbs = part.limbs();
      for (std::size_t i = 0; i < limbs.size(); ++i) added[i] += limbs[i];
    }
    EXPECT_EQ(whole.to_double(), expected);
    EXPECT_EQ(apps::exact_sum(added).to_double(), expected);
    EXPECT_EQ(apps::exact_sum(added).limbs(), whole.limbs());
  }
}

TEST(exact_sum, what_is_not_finite_makes_the_sum_not_a_number) {
  EXPECT_TRUE(std::isnan(sum_of({1.0, std::numeric_limits<double>::infinity()})));
  EXPECT_TRUE(std::isnan(sum_of({std::nan(""), 1.0})));
}

/// Fields of this pair of values, with zero padding.
void check_change(const std::vector<double>& before, const std::vector<double>& after, extents size) {
  block_field a(size, 0), b(size, 0);
  apps::exact_sum expected;
  std::size_t i = 0;
  for (std::int64_t z = 0; z < size.nz; ++z)
    for (std::int64_t y = 0; y < size.ny; ++y)
      for (std::int64_t x = 0; x < size.nx; ++x, ++i) {
        a.row(y, z)[x] = before[i];
        b.row(y, z)[x] = after[i];
        const double change = after[i] - before[i];
        expected.add(change * change);
      }
  apps::exact_sum sum;
  add_squared_changes(sum, a.current(), b.current(), size, a.pitch());
  EXPECT_EQ(sum.limbs(), expected.limbs());
}

TEST(change_sum, fast_sum_equals_one_by_one) {
  const extents size{13, 7, 5};
  const int count = static_cast<int>(size.cells());
  check_change(random_values(1, count, 0, 0), random_values(2, count, 0, 0), size);
  check_change(random_values(3, count, -400, 400), random_values(4, count, -400, 400), size);
  check_change(random_values(5, count, -540, -530), random_values(6, count, -540, -530), size);  // to subnormals
  check_change(random_values(7, count, 500, 511), random_values(8, count, 500, 511), size);      // to the largest
  check_change(random_values(9, count, 0, 0), random_values(9, count, 0, 0), size);              // no change
  std::vector<double> odd = random_values(10, count, 0, 0);
  odd[17] = std::nan("");
  odd[40] = std::numeric_limits<double>::infinity();
  check_change(random_values(11, count, 0, 0), odd, size);
}

}  // namespace
}  // namespace exact_sum_test
}  // namespace jacobi
