#include "matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dgemm {
namespace {

/// splitmix64: every bit of the result depends on every bit of `v`.
std::uint64_t scattered(std::uint64_t v) {
  v += 0x9e3779b97f4a7c15;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
  v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
  return v ^ (v >> 31);
}

}  // namespace

double element(std::uint64_t which, std::uint64_t row, std::uint64_t column) {
  const std::uint64_t bits = scattered(scattered(which) ^ (row << 32 | column));
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1;
}

std::vector<double> make_matrix(std::uint64_t which, int n) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> m(size * size);
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t column = 0; column < size; ++column) m[row * size + column] = element(which, row, column);
  }
  return m;
}

void plain_product(int n, const double* a, const double* b, double* c) {
  const auto size = static_cast<std::size_t>(n);
  std::fill(c, c + size * size, 0.0);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < size; ++k) {
      for (std::size_t j = 0; j < size; ++j) c[i * size + j] += a[i * size + k] * b[k * size + j];
    }
  }
}

product_check::product_check(int n, const double* a, const double* b) : n_(n) {
  const auto size = static_cast<std::size_t>(n);
  x_.resize(size);
  for (std::size_t i = 0; i < size; ++i) x_[i] = element(~std::uint64_t{0}, i, 0) < 0 ? -1 : 1;
  std::vector<double> bx(size, 0), magnitude_of_b(size, 0);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      bx[i] += b[i * size + j] * x_[j];
      magnitude_of_b[i] += std::fabs(b[i * size + j]);
    }
  }
  expected_.assign(size, 0);
  magnitude_.assign(size, 0);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      expected_[i] += a[i * size + j] * bx[j];
      magnitude_[i] += std::fabs(a[i * size + j]) * magnitude_of_b[j];
    }
  }
}

int product_check::wrong_rows(std::span<const double> c, double factor) const {
  constexpr double tolerance = 16 * std::numeric_limits<double>::epsilon();
  const auto size = static_cast<std::size_t>(n_);
  int wrong = 0;
  for (std::size_t i = 0; i < c.size() / size; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < size; ++j) sum += c[i * size + j] * x_[j];
    const double off = std::fabs(sum - factor * expected_[i]);
    if (!(off <= tolerance * std::fabs(factor) * magnitude_[i])) ++wrong;
  }
  return wrong;
}

}  // namespace dgemm
