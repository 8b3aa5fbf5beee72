#include "host_routines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"

namespace host_routines_test {

using namespace cholesky;

namespace {

std::vector<double> random_tile(int b, std::uint64_t seed) {
  std::vector<double> t(static_cast<std::size_t>(b) * static_cast<std::size_t>(b));
  for (std::size_t i = 0; i < t.size(); ++i) t[i] = static_cast<double>(imbrex::mix(seed + i) % 2000) / 1000 - 1;
  return t;
}

TEST(host_routines, multiplying_with_an_inverse_solves) {
  for (const int b : {1, 2, 7, 64}) {
    std::vector<double> l = random_tile(b, 1), inverse = random_tile(b, 2), work(l.size());
    for (int k = 0; k < b; ++k) l[static_cast<std::size_t>(k * b + k)] = b + 1;
    std::vector<double> solved = random_tile(b, 3), multiplied = solved;
    host_trsm(l, solved, b);
    host_invert(l, {}, inverse, b);
    host_solve(inverse, multiplied, b, work);
    for (std::size_t i = 0; i < solved.size(); ++i) EXPECT_NEAR(multiplied[i], solved[i], 1e-14);
    for (int c = 0; c < b; ++c) {
      for (int r = 0; r < c; ++r) EXPECT_EQ(inverse[static_cast<std::size_t>(c * b + r)], 0) << "above the diagonal";
    }
  }
}

TEST(host_routines, what_has_no_inverse_is_said) {
  std::vector<double> l = random_tile(3, 1), inverse(9);
  l[4] = 0;
  EXPECT_THROW(host_invert(l, {}, inverse, 3), imbrex::error);
}

}  // namespace

}  // namespace host_routines_test
