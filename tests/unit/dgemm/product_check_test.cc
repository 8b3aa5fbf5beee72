#include "product_check.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "matrix.h"
#include "unit/object/job.h"

namespace product_check_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr int size = 16, num_tiles = 3;

/// What is done to element (row, column) of C.
struct damage {
  int row = -1, column = 0;
  double by = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & row & column & by;
  }
};

void fill_product(int row, int column, damage d, double* to) {
  const int n = size * num_tiles;
  for (int i = row * size; i < (row + 1) * size; ++i) {
    for (int j = column * size; j < (column + 1) * size; ++j, ++to) {
      *to = 0;
      for (int k = 0; k < n; ++k) {
        *to += dgemm::element(1, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(k)) *
               dgemm::element(2, static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(j));
      }
      if (i == d.row && j == d.column) *to += d.by;
    }
  }
}

task<int> wrong_rows(task_graph& g, damage d) {
  const auto make = [&] {
    return tiled_dgemm::tiles(g, {num_tiles, num_tiles}, size * size, map::block_cyclic::over(g.num_ranks()));
  };
  tiled_dgemm::tiles a = make(), b = make(), c = make();
  for (int i = 0; i < num_tiles; ++i) {
    for (int j = 0; j < num_tiles; ++j) {
      g.submit({}, &tiled_dgemm::fill_tile, std::uint64_t{1}, i, j, size, write(a(i, j)));
      g.submit({}, &tiled_dgemm::fill_tile, std::uint64_t{2}, i, j, size, write(b(i, j)));
      g.submit({}, &fill_product, i, j, d, write(c(i, j)));
    }
  }
  auto count = tiled_dgemm::count_wrong_rows(g, a, b, c, num_tiles, size);
  co_return co_await std::move(count);
}

task<int> look(runtime& rt) {
  const std::vector<std::pair<damage, int>> cases{{{}, 0},
                                                  {{17, 40, 1e-10}, 1},
                                                  {{0, 0, 1e-9}, 1},
                                                  {{47, 47, -1.0}, 1},
                                                  {{5, 9, std::numeric_limits<double>::quiet_NaN()}, 1}};
  for (const auto& [what, expected] : cases) {
    const damage d = what;
    const int found = co_await run_graph<&wrong_rows>(rt, d);
    EXPECT_EQ(found, expected) << d.row << ", " << d.column;
  }
  co_return 0;
}

TEST(product_check, finds_rows_with_a_wrong_element_on_one_rank_and_several) {
  for (const int ranks : {1, 3}) EXPECT_EQ(run_job_with({.pes = 2, .ranks = ranks}, &look), 0);
}

}  // namespace

}  // namespace product_check_test
