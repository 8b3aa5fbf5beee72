#pragma once

#include <cstdint>
#include <span>
#include <vector>

/// Matrices in rows, of doubles, and whether one is the product of two others.
namespace dgemm {

/// Element (row, column) of the matrix number `which`: between -1 and 1, the same everywhere and always.
double element(std::uint64_t which, std::uint64_t row, std::uint64_t column);
/// All of an n by n matrix.
std::vector<double> make_matrix(std::uint64_t which, int n);

/// c = a b by three plain loops, n by n; each element is summed in ascending order.
void plain_product(int n, const double* a, const double* b, double* c);

/// Knows what C x must be for C = A B and a vector x of 1 and -1, without C: A (B x) (Freivalds 1979). A wrong element
/// changes a row of C x by as much as it is wrong.
class product_check {
 public:
  /// n by n.
  product_check(int n, const double* a, const double* b);
  /// How many rows of `c` are not those of `factor` times the product: by more than rounding can explain. A row with a
  /// NaN is one.
  int wrong_rows(std::span<const double> c, double factor = 1) const;

 private:
  int n_;
  std::vector<double> x_;
  std::vector<double> expected_;   // A (B x)
  std::vector<double> magnitude_;  // |A| (|B| |x|)
};

}  // namespace dgemm
