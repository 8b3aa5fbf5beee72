#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

#include "imbrex/balance/strategies/partition.h"

namespace imbrex {

namespace {

struct point {
  std::array<float, 3> x;  // as a share of the longest side of all
  float weight;
  int index;
};

/// Recursive bisection of points, in place.
class bisection {
 public:
  bisection(std::vector<point>& points, std::span<const double> shares, std::vector<int>& parts)
      : points_(points), scratch_(points.size()), parts_(parts) {
    sum_of_shares_.resize(shares.size() + 1);
    std::partial_sum(shares.begin(), shares.end(), sum_of_shares_.begin() + 1);
  }

  /// The points of these places to the parts from `first` to before `last`.
  void cut(std::size_t begin, std::size_t end, std::size_t first, std::size_t last) {
    if (last - first == 1 || begin == end) {
      for (std::size_t i = begin; i < end; ++i)
        parts_[static_cast<std::size_t>(points_[i].index)] = static_cast<int>(first);
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    const double all = sum_of_shares_[last] - sum_of_shares_[first];
    const double low = sum_of_shares_[middle] - sum_of_shares_[first];
    const std::size_t at = split(begin, end, all > 0 ? low / all : 0.5);
    cut(begin, at, first, middle);
    cut(at, end, middle, last);
  }

 private:
  /// Puts points of about that share of the weight first, by their coordinate along the longest side. Gives where the
  /// others begin.
  std::size_t split(std::size_t begin, std::size_t end, double share) {
    std::array<float, 3> low = points_[begin].x;
    std::array<float, 3> high = low;
    double weight = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const point& p = points_[i];
      for (std::size_t d = 0; d < 3; ++d) {
        low[d] = std::min(low[d], p.x[d]);
        high[d] = std::max(high[d], p.x[d]);
      }
      weight += p.weight;
    }
    std::size_t d = 0;
    for (std::size_t k = 1; k < 3; ++k) {
      if (high[k] - low[k] > high[d] - low[d]) d = k;
    }
    const double target = weight * share;
    if (end - begin <= 64) return split_sorted(begin, end, d, target);
    return split_by_bins(begin, end, d, low[d], high[d], target);
  }

  /// Sorts, and cuts before the first point most of which is beyond.
  std::size_t split_sorted(std::size_t begin, std::size_t end, std::size_t d, double target) {
    const std::size_t e = (d + 1) % 3;
    const std::size_t f = (d + 2) % 3;
    std::sort(points_.begin() + static_cast<std::ptrdiff_t>(begin), points_.begin() + static_cast<std::ptrdiff_t>(end),
              [d, e, f](const point& a, const point& b) {
                return std::tie(a.x[d], a.x[e], a.x[f], a.index) < std::tie(b.x[d], b.x[e], b.x[f], b.index);
              });
    double sum = 0;
    std::size_t i = begin;
    while (i < end && sum + points_[i].weight / 2 < target) sum += points_[i++].weight;
    return i;
  }

  /// Weighs the points in slices; only the slice in which the cut is, is sorted.
  std::size_t split_by_bins(std::size_t begin, std::size_t end, std::size_t d, float low, float high, double target) {
    const std::size_t num_bins = std::min<std::size_t>(most_bins, (end - begin) / 8);
    const float scale = high > low ? static_cast<float>(num_bins) / (high - low) : 0;
    const auto bin_of = [=](const point& p) {
      return std::min(static_cast<std::size_t>((p.x[d] - low) * scale), num_bins - 1);
    };
    std::array<double, most_bins> bins{};
    for (std::size_t i = begin; i < end; ++i) bins[bin_of(points_[i])] += points_[i].weight;
    std::size_t cut_bin = 0;
    double before = 0;
    while (cut_bin + 1 < num_bins && before + bins[cut_bin] < target) before += bins[cut_bin++];
    // Three ways, without a branch that nobody could foresee: below to the front, above to the back of the scratch, the
    // slice itself to the front of the points.
    std::size_t num_below = 0;
    std::size_t num_in = 0;
    std::size_t num_above = 0;
    const std::size_t n = end - begin;
    for (std::size_t i = begin; i < end; ++i) {
      const point p = points_[i];
      const std::size_t bin = bin_of(p);
      const bool is_below = bin < cut_bin;
      const bool is_above = bin > cut_bin;
      scratch_[num_below] = p;
      num_below += is_below ? 1 : 0;
      if (is_above) scratch_[n - ++num_above] = p;
      points_[begin + num_in] = p;
      num_in += is_below || is_above ? 0 : 1;
    }
    const auto from = [&](std::size_t i) { return scratch_.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto to = [&](std::size_t i) { return points_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::copy_backward(to(begin), to(begin + num_in), to(begin + num_below + num_in));
    std::copy(from(0), from(num_below), to(begin));
    std::copy(from(n - num_above), from(n), to(begin + num_below + num_in));
    return split_sorted(begin + num_below, begin + num_below + num_in, d, target - before);
  }

  static constexpr std::size_t most_bins = 512;
  std::vector<point>& points_;
  std::vector<point> scratch_;
  std::vector<double> sum_of_shares_;
  std::vector<int>& parts_;
};

}  // namespace

std::vector<int> rcb_strategy::cut(const cut_task& t) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::array<double, 3> low{infinity, infinity, infinity};
  std::array<double, 3> high{-infinity, -infinity, -infinity};
  const auto num_dimensions = static_cast<std::size_t>(t.problem.num_dimensions);
  double total = 0;
  for (std::size_t i = 0; i < t.elements.size(); ++i) {
    const auto& x = t.problem.places[static_cast<std::size_t>(t.elements[i])];
    for (std::size_t d = 0; d < num_dimensions; ++d) {
      low[d] = std::min(low[d], x[d]);
      high[d] = std::max(high[d], x[d]);
    }
    total += t.weights[i];
  }
  double side = 0;
  for (std::size_t d = 0; d < num_dimensions; ++d) side = std::max(side, high[d] - low[d]);
  std::vector<point> points(t.elements.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& x = t.problem.places[static_cast<std::size_t>(t.elements[i])];
    point& p = points[i];
    p.x = {0, 0, 0};
    for (std::size_t d = 0; d < num_dimensions && side > 0; ++d) p.x[d] = static_cast<float>((x[d] - low[d]) / side);
    p.weight = static_cast<float>(t.weights[i] / total);
    p.index = static_cast<int>(i);
  }
  std::vector<int> parts(points.size());
  bisection(points, t.shares, parts).cut(0, points.size(), 0, t.shares.size());
  return parts;
}

void rcb_strategy::check_input(const balance_problem& problem) const { check_has_places(problem, "rcb"); }

}  // namespace imbrex
