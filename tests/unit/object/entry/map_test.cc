#include "imbrex/object/entry/map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace map_test {

namespace {

namespace ix = imbrex;
using testing::HasSubstr;

struct tile : ix::chare<tile, ix::index2d> {
  int where() { return pe(); }
};

/// Columns on PEs, counted from a PE of choice.
struct by_column {
  int first = 0;
  int operator()(const ix::index2d& i, const ix::index2d&, int num_pes) const { return (first + i.x) % num_pes; }
};

/// Puts one element where no PE is.
struct beyond {
  int operator()(const ix::index2d& i, int num_pes) const { return i.x == 2 && i.y == 1 ? num_pes : 0; }
};

const ix::index2d extent{5, 3};

template <class Map>
ix::task<int> elements_are_where_the_map_says(ix::runtime& rt, Map map) {
  auto tiles = rt.create_array<tile>(ix::placed(extent, map));
  for (int y = 0; y < extent.y; ++y) {
    for (int x = 0; x < extent.x; ++x) {
      const ix::index2d i{x, y};
      const int where = co_await tiles[i].template call<&tile::where>();
      EXPECT_EQ(where, ix::map_to_pe(map, i, extent, rt.num_pes())) << to_text(i);
    }
  }
  co_return 0;
}

template <class Map>
std::vector<int> places(const Map& map, int num_pes) {
  std::vector<int> list;
  for (std::uint64_t l = 0; l < volume(extent); ++l) {
    list.push_back(ix::map_to_pe(map, ix::from_linear(l, extent), extent, num_pes));
  }
  return list;
}

TEST(map, block_keeps_neighbours_together_and_loads_even) {
  for (int num_pes = 1; num_pes < 20; ++num_pes) {
    const std::vector<int> list = places(ix::map::block{}, num_pes);
    EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
    for (int p = 0; p < num_pes; ++p) {
      const auto n = std::count(list.begin(), list.end(), p);
      EXPECT_GE(n, 15 / num_pes);
      EXPECT_LE(n, (15 + num_pes - 1) / num_pes);
    }
  }
}

TEST(map, round_robin_parts_neighbours) {
  const std::vector<int> expected{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2};
  EXPECT_EQ(places(ix::map::round_robin{}, 4), expected);
}

TEST(map, block_places_elements) {
  imbrex_test::run_over_all_shapes(elements_are_where_the_map_says<ix::map::block>, ix::map::block{});
}
TEST(map, round_robin_places_elements) {
  imbrex_test::run_over_all_shapes(elements_are_where_the_map_says<ix::map::round_robin>, ix::map::round_robin{});
}
TEST(map, hash_places_elements) {
  imbrex_test::run_over_all_shapes(elements_are_where_the_map_says<ix::map::hash>, ix::map::hash{});
}
TEST(map, of_the_user_places_elements) {
  imbrex_test::run_over_all_shapes(elements_are_where_the_map_says<by_column>, by_column{1});
}

ix::task<int> create_beyond(ix::runtime& rt) {
  rt.create_array<tile>(ix::placed(extent, beyond{}));
  co_await rt.quiescence();
  co_return 0;
}

TEST(map, that_names_no_pe_ends_the_job_with_the_element_and_the_pe) {
  for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{1, 1}, {3, 1}, {2, 2}}) {
    const auto [code, errors] = imbrex_test::run_and_listen(s, create_beyond);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, HasSubstr("the map of"));
    EXPECT_THAT(errors, HasSubstr(fmt::format("puts element (2, 1) on PE {}", s.pes * s.ranks)));
  }
}

ix::task<int> insert_beyond(ix::runtime& rt) {
  auto a = rt.create_array<tile>(ix::empty_array<ix::index2d>(beyond{}));
  a.insert({2, 1});
  co_await rt.quiescence();
  co_return 0;
}

TEST(map, that_names_no_pe_is_noticed_by_an_insertion) {
  const auto [code, errors] = imbrex_test::run_and_listen({2, 1}, insert_beyond);
  EXPECT_EQ(code, 70);
  EXPECT_THAT(errors, HasSubstr("puts element (2, 1) on PE 2"));
}

ix::task<int> send_beyond(ix::runtime& rt) {
  auto a = rt.create_array<tile>(ix::empty_array<ix::index2d>(beyond{}));
  co_await rt.quiescence();
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THROW((a[{2, 1}].send<&tile::where>()), ix::usage_error);
  }
  co_return 0;
}

TEST(map, that_names_no_pe_is_noticed_by_a_sender) { EXPECT_EQ(imbrex_test::run_job_with({2, 1}, send_beyond), 0); }

ix::task<int> section_beyond(ix::runtime& rt) {
  auto a = rt.create_array<tile>(ix::empty_array<ix::index2d>(beyond{}));
  const std::vector<ix::index2d> members{{2, 1}};
  a.section(members);
  co_await rt.quiescence();
  co_return 0;
}

TEST(map, that_names_no_pe_is_noticed_by_a_section) {
  const auto [code, errors] = imbrex_test::run_and_listen({2, 1}, section_beyond);
  EXPECT_EQ(code, 2);  // where it is made
  EXPECT_THAT(errors, HasSubstr("puts element (2, 1) on PE 2"));
}

template <class Map>
ix::task<int> empty_without_extent(ix::runtime& rt) {
  rt.create_array<tile>(ix::empty_array<ix::index2d>(Map{}));
  co_return 0;
}

TEST(map, that_divides_an_extent_is_refused_for_an_array_that_has_none) {
  for (const auto& [code, errors] : {imbrex_test::run_and_listen({2, 1}, empty_without_extent<ix::map::block>),
                                     imbrex_test::run_and_listen({1, 2}, empty_without_extent<ix::map::round_robin>)}) {
    EXPECT_EQ(code, 2);
    EXPECT_THAT(errors, HasSubstr("empty_array(extent, map)"));
  }
}

ix::task<int> empty_with_extent(ix::runtime& rt) {
  const ix::index2d within{4, 3};
  auto a = rt.create_array<tile>(ix::empty_array(within, ix::map::block{}));
  for (std::uint64_t l = 0; l < volume(within); l += 2) co_await a.insert(ix::from_linear(l, within));
  for (std::uint64_t l = 0; l < volume(within); l += 2) {
    const ix::index2d i = ix::from_linear(l, within);
    const int where = co_await a[i].call<&tile::where>();
    EXPECT_EQ(where, (ix::map::block{}(i, within, rt.num_pes())));
  }
  co_return 0;
}

TEST(map, places_what_is_inserted_within_an_extent_as_in_a_full_array) {
  for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{1, 1}, {3, 1}, {2, 2}}) {
    EXPECT_EQ(imbrex_test::run_job_with(s, empty_with_extent), 0) << to_text(s);
  }
}

}  // namespace

}  // namespace map_test
