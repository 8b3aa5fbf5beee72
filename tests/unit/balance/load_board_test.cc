#include "imbrex/balance/strategies/load_board.h"

#include <gtest/gtest.h>

#include "imbrex/balance/strategies/hilbert.h"
#include "imbrex/balance/strategies/refiner.h"
#include "unit/balance/small_problems.h"

namespace load_board_test {

using namespace imbrex;
using detail::least_tree;
using detail::load_board;

namespace {

TEST(least_tree, knows_the_least_key_at_any_time) {
  random_sequence r(3);
  for (const std::size_t n : {1U, 2U, 5U, 8U, 33U}) {
    least_tree tree(n);
    std::vector<double> keys(n);
    std::vector<std::uint64_t> room(n);
    for (std::size_t i = 0; i < n; ++i) tree.set(static_cast<int>(i), 0);
    for (int round = 0; round < 500; ++round) {
      const auto slot = static_cast<std::size_t>(r.below(n));
      keys[slot] = static_cast<double>(r.below(10));
      room[slot] = r.below(10);
      tree.set(static_cast<int>(slot), keys[slot]);
      tree.set_room(static_cast<int>(slot), room[slot]);
      const auto least = std::ranges::min_element(keys);
      ASSERT_EQ(tree.least(), least - keys.begin());
      const std::uint64_t needed = r.below(11);
      int best = -1;
      for (std::size_t i = 0; i < n; ++i) {
        if (room[i] >= needed && (best < 0 || keys[i] < keys[static_cast<std::size_t>(best)]))
          best = static_cast<int>(i);
      }
      const int found = tree.least_with_room(needed);
      ASSERT_EQ(found < 0, best < 0);
      if (best < 0) continue;
      ASSERT_EQ(tree.key(found), tree.key(best));
    }
  }
}

TEST(load_board, finds_where_an_element_is_done_first) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const bool has_gpus = seed % 2 != 0;
    const balance_problem p = small_problems::random_problem(seed, {20, 9, has_gpus, false, has_gpus, true});
    if (p.elements.empty()) continue;
    std::vector<int> placement = placement_after(p, {});
    if (!memory_excesses(p, placement).empty()) continue;
    const balance_element& e = p.elements[0];
    placement[0] = -1;
    const load_board board(p, placement);
    int best = -1;
    for (int pe = 0; pe < static_cast<int>(p.pes.size()); ++pe) {
      if (board.fits(e, pe) && (best < 0 || board.end(e, pe) < board.end(e, best))) best = pe;
    }
    const int found = board.earliest(e);
    ASSERT_EQ(found < 0, best < 0) << seed;
    if (found < 0) continue;
    EXPECT_TRUE(board.fits(e, found)) << seed;
    EXPECT_TRUE(e.needs_gpu() || found == best) << seed;
  }
}

TEST(load_board, counts_what_comes_and_goes) {
  const balance_problem p = small_problems::random_problem(1, {20, 5, true, false, false, true});
  const std::vector<int> placement = placement_after(p, {});
  load_board board(p);
  for (std::size_t i = 0; i < placement.size(); ++i) board.add(p.elements[i], placement[i]);
  EXPECT_NEAR(board.longest_time(), predicted_time(p, placement), 1e-9);
  for (std::size_t i = 0; i < placement.size(); ++i) board.remove(p.elements[i], placement[i]);
  EXPECT_NEAR(board.longest_time(), load_board(p).longest_time(), 1e-9);
}

TEST(least_possible_time, is_never_above_the_best) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const balance_problem p =
        small_problems::random_problem(seed, {7, 3, (seed & 1) != 0, (seed & 2) != 0, false, (seed & 4) != 0});
    EXPECT_LE(detail::least_possible_time(p), small_problems::shortest_time(p) * (1 + 1e-12)) << seed;
  }
}

/// Every cell once, each beside the one before.
void expect_walk(std::size_t num_dimensions, unsigned num_bits) {
  const std::uint32_t side = 1U << num_bits;
  const std::array<std::uint32_t, 3> extents{side, num_dimensions > 1 ? side : 1, num_dimensions > 2 ? side : 1};
  std::vector<std::array<int, 3>> cells(std::size_t{extents[0]} * extents[1] * extents[2], {-9, -9, -9});
  for (std::uint32_t z = 0; z < extents[2]; ++z) {
    for (std::uint32_t y = 0; y < extents[1]; ++y) {
      for (std::uint32_t x = 0; x < extents[0]; ++x) {
        const std::uint64_t n = detail::hilbert_number({x, y, z}, num_dimensions, num_bits);
        ASSERT_LT(n, cells.size());
        cells[n] = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
      }
    }
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    ASSERT_GE(cells[i][0], 0) << "no cell has number " << i;
    if (i == 0) continue;
    int distance = 0;
    for (std::size_t d = 0; d < 3; ++d) distance += std::abs(cells[i][d] - cells[i - 1][d]);
    ASSERT_EQ(distance, 1) << i;
  }
}

TEST(hilbert_number, walks_through_all_cells_without_a_jump) {
  expect_walk(1, 5);
  for (const unsigned bits : {1U, 2U, 3U, 5U}) {
    expect_walk(2, bits);
    expect_walk(3, bits);
  }
}

}  // namespace

}  // namespace load_board_test
