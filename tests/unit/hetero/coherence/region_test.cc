#include "imbrex/hetero/coherence/region.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <random>

namespace region_test {

using namespace imbrex;

namespace {

constexpr std::uint64_t n = 5;
using cells = std::array<std::optional<int>, n * n * n>;

template <class F>
void for_each_cell(const box& b, F f) {
  for (std::uint64_t z = b.begin[2]; z < b.end[2]; ++z)
    for (std::uint64_t y = b.begin[1]; y < b.end[1]; ++y)
      for (std::uint64_t x = b.begin[0]; x < b.end[0]; ++x) f((z * n + y) * n + x);
}

box any_box(std::mt19937& random) {
  box b;
  for (std::size_t i = 0; i < 3; ++i) {
    b.begin[i] = random() % n;
    b.end[i] = b.begin[i] + 1 + random() % (n - b.begin[i]);
  }
  return b;
}

TEST(region_map, says_of_each_byte_what_was_said_last) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    region_map<int> map;
    cells expected;
    for (int step = 0; step < 30; ++step) {
      const box b = any_box(random);
      if (random() % 3 == 0) {
        map.erase(b);
        for_each_cell(b, [&](std::uint64_t c) { expected[c].reset(); });
      } else {
        const int value = static_cast<int>(random() % 3);
        map.set(b, value);
        for_each_cell(b, [&](std::uint64_t c) { expected[c] = value; });
      }
      cells found;
      for (const auto& p : map.pieces()) {
        for_each_cell(p.where, [&](std::uint64_t c) {
          ASSERT_FALSE(found[c].has_value()) << "two boxes have it";
          found[c] = p.value;
        });
      }
      ASSERT_EQ(found, expected);
      const box asked = any_box(random);
      bool any = false;
      for_each_cell(asked, [&](std::uint64_t c) { any |= expected[c].has_value(); });
      ASSERT_EQ(map.find(asked) != nullptr, any);
    }
  }
}

TEST(region, adds_and_subtracts_bytes) {
  std::mt19937 random(2);
  const auto cells_of = [](const region& r) {
    std::array<int, n * n * n> in{};
    r.for_each([&](const box& b) { for_each_cell(b, [&](std::uint64_t c) { ++in[c]; }); });
    return in;
  };
  for (int round = 0; round < 200; ++round) {
    region a, b;
    for (int i = 0; i < 5; ++i) a.add(any_box(random)), b.add(any_box(random));
    if (random() % 2 == 0) a.subtract(any_box(random));
    const auto in_a = cells_of(a), in_b = cells_of(b), in_both = cells_of(a.in(b));
    region rest = a;
    rest.subtract(b);
    const auto in_rest = cells_of(rest);
    std::uint64_t bytes = 0;
    for (std::size_t c = 0; c < in_a.size(); ++c) {
      ASSERT_LE(in_a[c], 1);
      ASSERT_EQ(in_both[c], in_a[c] * in_b[c]);
      ASSERT_EQ(in_rest[c], in_a[c] * (1 - in_b[c]));
      bytes += static_cast<std::uint64_t>(in_a[c]);
    }
    ASSERT_EQ(a.bytes(), bytes);
    const box asked = any_box(random);
    bool all = true;
    for_each_cell(asked, [&](std::uint64_t c) { all &= in_a[c] == 1; });
    ASSERT_EQ(a.covers(asked), all);
  }
}

TEST(region, of_neighbours_is_one_box) {
  region r;
  for (std::uint64_t y = 0; y < 4; ++y)
    for (std::uint64_t x = 0; x < 4; ++x) r.add({{x, y, 0}, {x + 1, y + 1, 1}});
  int boxes = 0;
  r.for_each([&](const box& b) {
    ++boxes;
    EXPECT_EQ(b, (box{{0, 0, 0}, {4, 4, 1}}));
  });
  EXPECT_EQ(boxes, 1);
}

}  // namespace

}  // namespace region_test
