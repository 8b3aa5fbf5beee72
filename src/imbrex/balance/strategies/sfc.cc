#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "imbrex/balance/strategies/hilbert.h"
#include "imbrex/balance/strategies/partition.h"

namespace imbrex {

namespace {

struct stop {
  std::uint64_t number;
  int index;
};

/// By number; those of one number in their order. Twelve binary digits at a time.
void sort_by_number(std::vector<stop>& stops, unsigned num_bits) {
  constexpr unsigned digits = 12;
  constexpr std::size_t num_values = std::size_t{1} << digits;
  std::vector<stop> sorted(stops.size());
  std::vector<std::size_t> begin(num_values);
  for (unsigned shift = 0; shift < num_bits; shift += digits) {
    const auto value = [shift](const stop& s) {
      return static_cast<std::size_t>(s.number >> shift) & (num_values - 1);
    };
    std::ranges::fill(begin, 0);
    for (const stop& s : stops) ++begin[value(s)];
    std::size_t sum = 0;
    for (std::size_t& b : begin) {
      const std::size_t num = b;
      b = sum;
      sum += num;
    }
    for (const stop& s : stops) sorted[begin[value(s)]++] = s;
    stops.swap(sorted);
  }
}

/// The elements in the order of a walk. Cells are cubes: of the longest side 2^16 (of 1 or 2 dimensions 2^24).
std::vector<stop> walk(const balance_problem& p, std::span<const int> elements) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto num_dimensions = static_cast<std::size_t>(p.num_dimensions);
  const unsigned num_bits = num_dimensions == 3 ? 16 : 24;
  std::array<double, 3> low{infinity, infinity, infinity};
  double side = 0;
  for (std::size_t d = 0; d < num_dimensions; ++d) {
    double high = -infinity;
    for (const int e : elements) {
      const double x = p.places[static_cast<std::size_t>(e)][d];
      low[d] = std::min(low[d], x);
      high = std::max(high, x);
    }
    side = std::max(side, high - low[d]);
  }
  const auto cells = static_cast<double>(std::uint32_t{1} << num_bits);
  const double scale = side > 0 ? cells / side : 0;
  std::vector<stop> stops(elements.size());
  for (std::size_t i = 0; i < stops.size(); ++i) {
    const auto& x = p.places[static_cast<std::size_t>(elements[i])];
    std::array<std::uint32_t, 3> cell{};
    for (std::size_t d = 0; d < num_dimensions; ++d)
      cell[d] = static_cast<std::uint32_t>(std::min((x[d] - low[d]) * scale, cells - 1));
    stops[i] = {detail::hilbert_number(cell, num_dimensions, num_bits), static_cast<int>(i)};
  }
  sort_by_number(stops, static_cast<unsigned>(num_dimensions) * num_bits);
  return stops;
}

}  // namespace

std::vector<int> sfc_strategy::cut(const cut_task& t) const {
  const std::vector<stop> stops = walk(t.problem, t.elements);
  double total = 0;
  for (const stop& s : stops) total += t.weights[static_cast<std::size_t>(s.index)];
  std::vector<int> parts(stops.size());
  std::size_t part = 0;
  double limit = t.shares[0] * total;
  double sum = 0;
  for (const stop& s : stops) {
    const double weight = t.weights[static_cast<std::size_t>(s.index)];
    while (part + 1 < t.shares.size() && sum + weight / 2 > limit) limit += t.shares[++part] * total;
    parts[static_cast<std::size_t>(s.index)] = static_cast<int>(part);
    sum += weight;
  }
  return parts;
}

void sfc_strategy::check_input(const balance_problem& problem) const { check_has_places(problem, "sfc"); }

}  // namespace imbrex
