#include "imbrex/object/entry/record_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "unit/object/job.h"

namespace record_table_test {

/// The table behind arrays, and arrays so large that it is in pages.
namespace {

namespace ix = imbrex;

constexpr std::uint64_t largest_in_one_piece = std::uint64_t{1} << 20;

TEST(record_table, is_in_one_piece_up_to_a_size_and_in_pages_above) {
  ix::record_table<int> small, large;
  small.resize(largest_in_one_piece);
  large.resize(largest_in_one_piece + 1);
  EXPECT_NE(small.flat(), nullptr);
  EXPECT_EQ(large.flat(), nullptr);
}

TEST(record_table, keeps_each_pointer_at_its_place) {
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{1500}, largest_in_one_piece + 1500}) {
    ix::record_table<int> table;
    table.resize(size);
    std::vector<std::uint64_t> places{0, size / 3, size / 2, size - 1};
    for (const std::uint64_t edge : {1023U, 1024U, 1025U}) {
      if (edge < size) places.push_back(edge);
    }
    std::vector<int> objects(places.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (table.slot(places[i]) == nullptr) {
        table.slot(places[i]) = &objects[i];
        ++different;
      }
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto at = static_cast<std::size_t>(table.slot(places[i]) - objects.data());
      EXPECT_EQ(places[at], places[i]) << "of " << size;
    }
    std::size_t visited = 0;
    table.for_each([&](int*) { ++visited; });
    EXPECT_EQ(visited, different) << "of " << size;
  }
}

struct mote : ix::chare<mote, ix::index1d> {
  void tell() { contribute(std::int64_t{index().x}, ix::sum); }
  int next(int n) {
    last = n;
    return index().x + 1;
  }
  int last = 0;
};

/// More elements than fit a table in one piece, most of them in pages of another PE.
ix::task<int> many(ix::runtime& rt) {
  const auto n = static_cast<int>(largest_in_one_piece) + 3000;
  const auto motes = rt.create_array<mote>(ix::index1d(n));
  for (const int i : {0, 1023, 1024, n / 2, n - 1}) EXPECT_EQ(co_await motes[i].call<&mote::next>(i), i + 1);
  motes.broadcast<&mote::tell>();
  EXPECT_EQ(co_await motes.reduction<std::int64_t>(), std::int64_t{n} * (n - 1) / 2);
  co_return 0;
}

TEST(record_table, of_an_array_in_pages) {
  for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{1, 1}, {2, 1}, {1, 2}}) {
    SCOPED_TRACE(imbrex_test::to_text(s));
    EXPECT_EQ(imbrex_test::run_job_with(s, &many), 0);
  }
}

}  // namespace

}  // namespace record_table_test
