// What items of a kernel do together, and half, against the same in plain C++.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <thread>

#include "imbrex/device/kernel/kernel_dialect.h"
#include "unit/kernel/kernel_cases.h"
// After the dialect.
#include "unit/kernel/together.hk"

namespace together_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

std::vector<kernel_case> cases_of(const kernel_source& k) {
  auto all = all_cases();
  std::erase_if(all, [&](const kernel_case& c) { return c.kernel != &k; });
  return all;
}
kernel_case case_of(const kernel_source& k) { return cases_of(k).front(); }

TEST(kernel_together, a_histogram_by_atomics) {
  const auto results = run_case_on_cpu(case_of(histogram));
  const auto in = results[2].as<int>();
  std::vector<unsigned> expected(100, 3);
  for (std::size_t i = 0; i < 997; ++i) ++expected[static_cast<std::size_t>(in[i] % 100)];
  EXPECT_EQ(results[3].as<unsigned>(), expected);
}

TEST(kernel_together, atomics_of_all_types) {
  const auto results = run_case_on_cpu(case_of(atomic_numbers));
  const auto in = results[1].as<int>();
  const double sum = std::accumulate(in.begin(), in.end(), 0.0);
  const int most = *std::max_element(in.begin(), in.end());
  EXPECT_EQ(results[2].as<int>(), (std::vector<int>{0, most, 1005, 7}));
  EXPECT_EQ(results[3].as<long>(),
            (std::vector<long>{1 + static_cast<long>(sum) * 10'000'000'000, most * -10'000'000'000,
                               most * 10'000'000'000, 7'000'000'000'000}));
  EXPECT_EQ(results[4].as<float>(),
            (std::vector<float>{1 + static_cast<float>(sum), 0, static_cast<float>(most) / 2, 0.25F}));
  EXPECT_EQ(results[5].as<double>(),
            (std::vector<double>{1 + sum / 8, most * -0.5, 3 + sum, static_cast<double>(most), 0.75}));
}

TEST(kernel_together, every_item_has_a_ticket_of_its_own) {
  const auto results = run_case_on_cpu(case_of(tickets));
  std::vector<int> expected(500);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(results[1].as<int>(), expected);
}

TEST(kernel_together, several_threads_share_the_groups_of_a_launch) {
  const kernel_case c = case_of(atomic_numbers);
  std::vector<given> results = c.arguments;
  std::vector<void*> pointers(results.size()), places(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    pointers[i] = results[i].bytes.data();
    places[i] = results[i].is_memory ? &pointers[i] : pointers[i];
  }
  const auto groups = [&](std::size_t first, std::size_t last) {
    run_on_cpu(*c.kernel, c.shape, places.data(), first, last);
  };
  {
    const std::jthread others(groups, 0, 4);
    groups(4, c.shape.num_groups());
  }
  const auto alone = run_case_on_cpu(c);
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].bytes, alone[i].bytes) << i;
}

/// Pairwise: in a group neighbours first.
double pairwise(const double* x, std::size_t n) {
  if (n == 1) return *x;
  std::size_t half = 1;
  while (2 * half < n) half *= 2;
  return pairwise(x, half) + pairwise(x + half, n - half);
}

TEST(kernel_together, sum_and_extremes_of_a_group) {
  int num_cases = 0;
  for (const kernel_case& c : cases_of(group_values)) {
    ++num_cases;
    const auto results = run_case_on_cpu(c);
    auto expected = results[0].as<double>();
    const extent3 g = c.shape.groups, l = c.shape.group;
    // The places of each group's items, in the order of their ids.
    std::map<std::size_t, std::vector<std::size_t>> places;
    std::size_t at = 0;
    for (std::size_t z = 0; z < g[2] * l[2]; ++z)
      for (std::size_t y = 0; y < g[1] * l[1]; ++y)
        for (std::size_t x = 0; x < g[0] * l[0]; ++x, ++at)
          places[((z / l[2]) * g[1] + y / l[1]) * g[0] + x / l[0]].push_back(at);
    for (int turn = 0; turn < 2; ++turn) {
      for (const auto& [group, items] : places) {
        std::vector<double> v;
        for (const std::size_t i : items) v.push_back(expected[i]);
        const double sum = pairwise(v.data(), v.size());
        const auto [least, most] = std::minmax_element(v.begin(), v.end());
        for (const std::size_t i : items) expected[i] = expected[i] / 3 + sum - *most * *least;
      }
    }
    EXPECT_EQ(results[1].as<double>(), expected) << num_cases;
  }
  EXPECT_EQ(num_cases, 4);
}

TEST(kernel_together, a_scan_tells_each_item_its_place) {
  for (const kernel_case& c : cases_of(compacted)) {
    const auto results = run_case_on_cpu(c);
    const auto in = results[0].as<int>();
    std::vector<int> out(in.size()), counts(c.shape.groups[0]);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t group = i / c.shape.group[0];
      if (in[i] % 3 != 0) out[group * c.shape.group[0] + static_cast<std::size_t>(counts[group]++)] = in[i];
    }
    EXPECT_EQ(results[1].as<int>(), out);
    EXPECT_EQ(results[2].as<int>(), counts);
  }
}

TEST(kernel_together, regions_below_bounds_in_two_and_three_dimensions) {
  const kernel_case c = case_of(corner);
  auto expected = c.arguments[4].as<double>();
  constexpr int table[3][2] = {{1, 4}, {2, 5}, {3, 6}};
  for (int z = 0; z < 8; ++z)
    for (int y = 0; y < 16; ++y)
      for (int x = 0; x < 24; ++x) {
        double& v = expected[static_cast<std::size_t>((z * 24 + y) * 24 + x)];
        if (x < 19 && y < 14 && z < 7) v += table[x % 3][y % 2] * std::ldexp(1.0, -1 - z % 4);
        if (x < 18 && y < 12) v += std::max(x, y) * 1000 - std::min(x, 3) + 0.125;
      }
  EXPECT_EQ(run_case_on_cpu(c)[4].as<double>(), expected);
}

TEST(kernel_together, four_numbers_at_once) {
  const kernel_case c = case_of(fours);
  auto f = c.arguments[1].as<float>();
  auto n = c.arguments[2].as<int>();
  for (std::size_t at = 0; at < 4UL * 97; at += 4) {
    const std::vector<float> v(f.begin() + static_cast<long>(at), f.begin() + static_cast<long>(at) + 4);
    f[at] = v[3], f[at + 1] = v[2], f[at + 2] = v[1], f[at + 3] = v[0] * 2;
    const int a = n[at], b = n[at + 1];
    n[at] = b + a, n[at + 1] = b - a;
    std::swap(n[at + 2], n[at + 3]);
  }
  const auto results = run_case_on_cpu(c);
  EXPECT_EQ(results[1].as<float>(), f);
  EXPECT_EQ(results[2].as<int>(), n);
}

TEST(kernel_together, prints) {
  const std::vector<int> in{3, -4, 5, -6};
  testing::internal::CaptureStdout();
  run_case_on_cpu({&spoken, launch_shape::over(4), {given::value(4), given::memory(in)}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "item 1 has -4\nitem 3 has -6\n");
}

/// By the definition of binary16.
double value_of(std::uint16_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  return exponent == 0 ? sign * std::ldexp(fraction, -24) : sign * std::ldexp(1024 + fraction, exponent - 25);
}
half of_bits(unsigned bits) {
  half h;
  h.bits = static_cast<std::uint16_t>(bits);
  return h;
}

TEST(half, is_what_the_standard_says_for_all_its_bits) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const half h = of_bits(bits);
    const double expected = value_of(h.bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(h)));
      EXPECT_TRUE(std::isnan(value_of(half(static_cast<float>(h)).bits)));
      continue;
    }
    ASSERT_EQ(static_cast<float>(h), static_cast<float>(expected)) << bits;
    ASSERT_EQ(half(static_cast<float>(h)).bits, h.bits);
  }
}

TEST(half, rounds_to_the_nearest_and_of_two_to_the_even) {
  for (unsigned bits = 0; bits < 0x7C00; ++bits) {
    const double a = value_of(static_cast<std::uint16_t>(bits));
    const double b = bits == 0x7BFF ? 65536 : value_of(static_cast<std::uint16_t>(bits + 1));
    const auto middle = static_cast<float>((a + b) / 2);
    const unsigned even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(half(middle).bits, even);
    ASSERT_EQ(half(-middle).bits, even | 0x8000U);
    ASSERT_EQ(half(std::nextafter(middle, 0.0F)).bits, bits);
    ASSERT_EQ(half(std::nextafter(middle, INFINITY)).bits, bits + 1);
  }
  EXPECT_EQ(half(std::numeric_limits<float>::max()).bits, 0x7C00);
  EXPECT_EQ(half(-std::numeric_limits<float>::denorm_min()).bits, 0x8000);
}

/// Where the compiler has the type, its conversions are what the integers are compared with.
TEST(half, by_integers_is_the_same) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const half h = of_bits(bits);
    const float by_integers = detail::value_of_half(h.bits);
    ASSERT_EQ(std::isnan(by_integers), std::isnan(static_cast<float>(h))) << bits;
    if (!std::isnan(by_integers)) {
      ASSERT_EQ(by_integers, static_cast<float>(h)) << bits;
    }
  }
  // All floats that differ in the upper bits, and their neighbours, among them those in the middle of two halves.
  for (std::uint64_t upper = 0; upper < (std::uint64_t{1} << 32); upper += 1U << 12) {
    for (const std::uint32_t lower : {0U, 1U, 0x7FFU, 0xFFFU}) {
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(upper) | lower);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(value_of(detail::half_bits_of(value))));
      } else {
        ASSERT_EQ(detail::half_bits_of(value), half(value).bits) << value;
      }
    }
  }
}

}  // namespace

}  // namespace together_test
