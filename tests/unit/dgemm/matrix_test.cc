#include "matrix.h"

#include <gtest/gtest.h>

#include <limits>

namespace matrix_test {

namespace {

TEST(matrix, elements_lie_between_minus_one_and_one_and_differ) {
  double sum = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const double e = dgemm::element(1, i, 3);
    EXPECT_LT(-1.0 - 1e-15, e);
    EXPECT_LT(e, 1);
    EXPECT_NE(e, dgemm::element(1, 3, i + 4));
    EXPECT_NE(e, dgemm::element(2, i, 3));
    EXPECT_EQ(e, dgemm::element(1, i, 3));
    sum += e;
  }
  EXPECT_LT(std::abs(sum), 30);
}

TEST(matrix, a_product_by_hand) {
  const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  double c[4];
  dgemm::plain_product(2, a, b, c);
  EXPECT_EQ(std::vector<double>(c, c + 4), (std::vector<double>{19, 22, 43, 50}));
}

class product_check : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    c_.resize(a_.size());
    dgemm::plain_product(n_, a_.data(), b_.data(), c_.data());
  }
  const int n_ = GetParam();
  const std::vector<double> a_ = dgemm::make_matrix(1, n_), b_ = dgemm::make_matrix(2, n_);
  const dgemm::product_check check_{n_, a_.data(), b_.data()};
  std::vector<double> c_;
};

TEST_P(product_check, takes_the_product_and_multiples_of_it) {
  EXPECT_EQ(check_.wrong_rows(c_), 0);
  for (double& v : c_) v *= 3;
  EXPECT_EQ(check_.wrong_rows(c_, 3), 0);
  EXPECT_EQ(check_.wrong_rows(c_), n_);
}

TEST_P(product_check, finds_one_wrong_element) {
  const auto n = static_cast<std::size_t>(n_);
  for (const double wrong : {1e-6, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    std::vector<double> c = c_;
    c[n * (n / 2) + n / 3] += wrong;
    EXPECT_EQ(check_.wrong_rows(c), 1) << wrong;
  }
}

INSTANTIATE_TEST_SUITE_P(sizes, product_check, testing::Values(2, 16, 37, 128));

}  // namespace

}  // namespace matrix_test
