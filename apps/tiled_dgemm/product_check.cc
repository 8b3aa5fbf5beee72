#include "product_check.h"

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "matrix.h"

namespace tiled_dgemm {
namespace {

namespace ix = imbrex;

/// A part of a vector, and beside each element what it would be if everything were positive: elements, then these.
using const_part = std::span<const double>;
using part = std::span<double>;

std::size_t at(int row, int column, int size) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(size) + static_cast<std::size_t>(column);
}

/// `into` becomes larger by a tile times a part of a vector.
void times(int size, const double* tile, const_part vector, part into) {
  for (int row = 0; row < size; ++row) {
    double sum = 0, magnitude = 0;
    for (int column = 0; column < size; ++column) {
      const double element = tile[at(row, column, size)];
      sum += element * vector[at(0, column, size)];
      magnitude += std::fabs(element) * vector[at(1, column, size)];
    }
    into[at(0, row, size)] += sum;
    into[at(1, row, size)] += magnitude;
  }
}

/// The part of x beside column `column` of tiles.
void fill_sign(int column, int size, part x) {
  for (int i = 0; i < size; ++i) {
    const auto number = static_cast<std::uint64_t>(column * size + i);
    x[at(0, i, size)] = dgemm::element(~std::uint64_t{0}, number, 0) < 0 ? -1 : 1;
    x[at(1, i, size)] = 1;
  }
}

void compare(int size, const_part found, const_part expected, part wrong) {
  constexpr double tolerance = 16 * std::numeric_limits<double>::epsilon();
  for (int i = 0; i < size; ++i) {
    const double off = std::fabs(found[at(0, i, size)] - expected[at(0, i, size)]);
    if (!(off <= tolerance * expected[at(1, i, size)])) wrong[0] += 1;
  }
}

}  // namespace

void fill_tile(std::uint64_t which, int row, int column, int size, double* to) {
  for (int i = row * size; i < (row + 1) * size; ++i) {
    for (int j = column * size; j < (column + 1) * size; ++j)
      *to++ = dgemm::element(which, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j));
  }
}

ix::task<int> count_wrong_rows(ix::task_graph& g, tiles& a, tiles& b, tiles& c, int num_tiles, int size) {
  const auto both = 2 * static_cast<std::size_t>(size);
  ix::distributed<double> x(g, num_tiles, both), bx(g, num_tiles, both), abx(g, num_tiles, both),
      cx(g, num_tiles, both), wrong(g, 1, 1);
  const ix::graph_task_options here{.name = "check"};
  for (int j = 0; j < num_tiles; ++j) g.submit(here, &fill_sign, j, size, write(x(j)));
  for (int i = 0; i < num_tiles; ++i) {
    for (int j = 0; j < num_tiles; ++j) g.submit(here, &times, size, b(i, j), x(j), reduce(bx(i), ix::sum));
  }
  for (int i = 0; i < num_tiles; ++i) {
    for (int j = 0; j < num_tiles; ++j) {
      g.submit(here, &times, size, a(i, j), bx(j), reduce(abx(i), ix::sum));
      g.submit(here, &times, size, c(i, j), x(j), reduce(cx(i), ix::sum));
    }
    g.submit(here, &compare, size, cx(i), abx(i), reduce(wrong(0), ix::sum));
  }
  const std::vector<double> rows = co_await ix::values(g, wrong(0));
  co_return static_cast<int>(rows[0]);
}

}  // namespace tiled_dgemm
