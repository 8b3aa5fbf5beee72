#include "imbrex/tuning/line_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace imbrex {
namespace line_search_test {
namespace {

using place = line_search::place;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Measures until the search has enough.
line_search searched(std::vector<line_search::axis> axes, const std::function<double(const place&)>& cost,
                     int most_trials = 1000) {
  line_search s(std::move(axes), most_trials);
  while (s.next()) s.tell(cost(*s.next()));
  return s;
}

TEST(line_search, finds_the_bottom_of_a_valley) {
  const auto cost = [](const place& p) {
    const double x = static_cast<double>(p[0]) - 3, y = static_cast<double>(p[1]) - 1;
    return 10 + x * x + 3 * y * y;
  };
  const line_search s = searched({{8}, {5}}, cost);
  EXPECT_EQ(s.best(), (place{3, 1}));
  EXPECT_EQ(s.best_cost(), 10);
  EXPECT_LT(s.num_trials(), 20) << "of 40 places";
}

TEST(line_search, one_place_is_measured_once) {
  const line_search s = searched({{1}}, [](const place&) { return 7.0; });
  EXPECT_EQ(s.num_trials(), 1);
  EXPECT_EQ(s.best_cost(), 7);
}

TEST(line_search, goes_past_one_place_that_is_a_little_worse) {
  const std::vector<double> costs{100, 105, 60, 61, 90};
  const line_search s = searched({{costs.size()}}, [&](const place& p) { return costs[p[0]]; });
  EXPECT_EQ(s.best(), place{2});
}

TEST(line_search, sees_all_values_without_an_order) {
  const std::vector<double> costs{100, 500, 300, 400, 20};
  EXPECT_EQ(searched({{costs.size(), false}}, [&](const place& p) { return costs[p[0]]; }).best(), place{4});
}

TEST(line_search, passes_places_that_cannot_be) {
  const std::vector<double> costs{infinity, infinity, 5, 4, infinity};
  EXPECT_EQ(searched({{costs.size()}}, [&](const place& p) { return costs[p[0]]; }).best(), place{3});
  const line_search none = searched({{3}, {2}}, [](const place&) { return infinity; });
  EXPECT_EQ(none.best_cost(), infinity);
}

TEST(line_search, keeps_to_its_trials) {
  const line_search s =
      searched({{100}, {100}}, [](const place& p) { return 1.0 / static_cast<double>(1 + p[0] + p[1]); }, 7);
  EXPECT_EQ(s.num_trials(), 7);
}

TEST(line_search, close_ones_are_measured_again) {
  // The first measurement of place 1 was disturbed.
  int of_place_1 = 0;
  const line_search s = searched({{2}}, [&](const place& p) {
    return p[0] == 0 ? 10.0 : ++of_place_1 == 1 ? 10.2 : 8.0;
  });
  EXPECT_EQ(s.best(), place{1});
  EXPECT_EQ(s.num_trials(), 4);
}

/// Costs as programs have them: work that shrinks with one parameter, overhead that grows, a little noise.
TEST(line_search, comes_within_three_percent_of_an_exhaustive_table) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(0, 1);
  int good = 0, trials = 0;
  constexpr int runs = 300;
  for (int run = 0; run < runs; ++run) {
    const double work = 50 + 500 * any(random), waiting = 300 * any(random), overhead = 20 * any(random),
                 memory = 200 * any(random), twice = 15 * any(random);
    const auto exact = [&](const place& p) {
      const double odf = std::pow(2.0, static_cast<double>(p[0])), steps = std::pow(2.0, static_cast<double>(p[1]));
      return work + waiting / odf + overhead * odf / steps + memory / steps + twice * steps * std::sqrt(odf);
    };
    double least = infinity;
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t j = 0; j < 4; ++j) least = std::min(least, exact({i, j}));
    const line_search s = searched({{5}, {4}}, [&](const place& p) { return exact(p) * (1 + 0.01 * any(random)); });
    good += exact(s.best()) <= 1.03 * least ? 1 : 0;
    trials += s.num_trials();
  }
  EXPECT_GE(good, runs * 95 / 100);
  EXPECT_LE(trials, runs * 15);
}

}  // namespace
}  // namespace line_search_test
}  // namespace imbrex
