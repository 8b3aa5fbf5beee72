#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <vector>

#include "unit/object/job.h"

namespace {

namespace ix = imbrex;
using imbrex_test::run_over_all_shapes;

constexpr ix::index2d extent{4, 5};

struct tile : ix::chare<tile, ix::index2d> {
  using section = ix::section_proxy<tile>;

  int number() const { return static_cast<int>(linear(index(), extent())); }
  void add(section s, int factor) { contribute(s, factor * number(), ix::sum); }
  void count(section s) {
    ++counted;
    contribute(s, 1, ix::sum);
  }
  ix::task<> together(section s, int size, int sum) {
    for (int k = 1; k <= 10; ++k) {
      const int total = co_await allreduce(s, k * number(), ix::sum);
      EXPECT_EQ(total, k * sum);
      const int members = co_await allreduce(s, 1, ix::sum);
      EXPECT_EQ(members, size);
    }
    contribute(s, 1, ix::sum);
  }
  void whole() { contribute(1, ix::sum); }
  /// A section made by an element, spoken to at once.
  void found(std::vector<ix::index2d> members) {
    auto s = array().section(std::move(members));
    s.broadcast<&tile::deliver_to>(s, proxy());
  }
  void deliver_to(section s, ix::element_proxy<tile> one) { contribute(s, 1, ix::sum, ix::deliver<&tile::told>(one)); }
  void told(int members) { counted += 100 * members; }
  int times_counted() { return counted; }
  int counted = 0;
};

std::vector<ix::index2d> row(int y) { return {{0, y}, {1, y}, {2, y}, {3, y}}; }
std::vector<ix::index2d> column(int x) { return {{x, 4}, {x, 2}, {x, 0}, {x, 1}, {x, 3}}; }

ix::task<int> rows_and_columns(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  std::vector<tile::section> rows;
  std::vector<tile::section> columns;
  for (int y = 0; y < extent.y; ++y) rows.push_back(tiles.section(row(y)));
  for (int x = 0; x < extent.x; ++x) columns.push_back(tiles.section(column(x)));
  for (const tile::section& s : rows) s.broadcast<&tile::add>(s, 1);
  for (const tile::section& s : columns) s.broadcast<&tile::add>(s, 10);
  tiles.broadcast<&tile::whole>();
  for (int y = 0; y < extent.y; ++y) {
    const int sum = co_await rows[static_cast<std::size_t>(y)].reduction<int>();
    EXPECT_EQ(sum, 4 * 4 * y + 6);
  }
  for (int x = 0; x < extent.x; ++x) {
    const int sum = co_await columns[static_cast<std::size_t>(x)].reduction<int>();
    EXPECT_EQ(sum, 10 * (5 * x + 40));
  }
  const int all = co_await tiles.reduction<int>();
  EXPECT_EQ(all, 20);
  co_return 0;
}

TEST(section, has_reductions_of_its_own) { run_over_all_shapes(rows_and_columns); }

ix::task<int> members_only(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  const std::vector<ix::index2d> members{{3, 4}, {0, 0}, {1, 2}};
  auto s = tiles.section(members);
  for (int k = 0; k < 3; ++k) s.broadcast<&tile::count>(s);
  for (int k = 0; k < 3; ++k) {
    const int size = co_await s.reduction<int>();
    EXPECT_EQ(size, 3);
  }
  for (std::uint64_t l = 0; l < volume(extent); ++l) {
    const ix::index2d i = ix::from_linear(l, extent);
    const bool member = std::find(members.begin(), members.end(), i) != members.end();
    const int times = co_await tiles[i].call<&tile::times_counted>();
    EXPECT_EQ(times, member ? 3 : 0);
  }
  co_return 0;
}

TEST(section, broadcasts_to_its_members_only) { run_over_all_shapes(members_only); }

ix::task<int> allreduces(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  auto diagonal = tiles.section({{0, 0}, {1, 1}, {2, 2}, {3, 3}});
  auto left = tiles.section(column(0));
  diagonal.broadcast<&tile::together>(diagonal, 4, 0 + 5 + 10 + 15);
  left.broadcast<&tile::together>(left, 5, 0 + 4 + 8 + 12 + 16);
  const int in_diagonal = co_await diagonal.reduction<int>();
  const int in_left = co_await left.reduction<int>();
  EXPECT_EQ(in_diagonal, 4);
  EXPECT_EQ(in_left, 5);
  co_return 0;
}

TEST(section, has_allreduces_that_overlap_with_those_of_others) { run_over_all_shapes(allreduces); }

ix::task<int> made_by_elements(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  for (int y = 0; y < extent.y; ++y) tiles[{y % 4, y}].send<&tile::found>(row(y));
  co_await rt.quiescence();
  for (int y = 0; y < extent.y; ++y) {
    const int told = co_await tiles[{y % 4, y}].call<&tile::times_counted>();
    EXPECT_EQ(told, 400);
  }
  co_return 0;
}

TEST(section, can_be_made_by_any_element) { run_over_all_shapes(made_by_elements); }

}  // namespace
