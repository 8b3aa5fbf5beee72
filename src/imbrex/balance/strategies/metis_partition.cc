#include "imbrex/balance/strategies/metis_partition.h"

#include <fmt/format.h>
#include <metis.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

/// METIS counts with integers, of 32 bits as Debian builds it: sums must not exceed that.
constexpr double most_weight = 1e9;

/// The graph of some elements among themselves, with weights as METIS wants them.
struct subgraph {
  std::vector<idx_t> first;
  std::vector<idx_t> partner;
  std::vector<idx_t> bytes;
  std::vector<idx_t> weights;
};

subgraph graph_of(const balance_problem& p, std::span<const int> elements, std::span<const double> weights) {
  const communication_graph& g = p.communication;
  std::vector<idx_t> number(p.elements.size(), -1);
  for (std::size_t i = 0; i < elements.size(); ++i) number[static_cast<std::size_t>(elements[i])] = static_cast<idx_t>(i);
  double all_bytes = 0;
  double all_weights = 0;
  for (const double b : g.bytes) all_bytes += b;
  for (const double w : weights) all_weights += w;
  const double byte_scale = all_bytes > 0 ? std::min(1.0, most_weight / all_bytes) : 0;
  subgraph s;
  s.first.push_back(0);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto e = static_cast<std::size_t>(elements[i]);
    for (std::size_t k = g.first[e]; k < g.first[e + 1]; ++k) {
      const idx_t other = number[static_cast<std::size_t>(g.partner[k])];
      if (other < 0) continue;
      s.partner.push_back(other);
      s.bytes.push_back(std::max<idx_t>(1, static_cast<idx_t>(g.bytes[k] * byte_scale)));
    }
    s.first.push_back(static_cast<idx_t>(s.partner.size()));
    s.weights.push_back(static_cast<idx_t>(std::lround(weights[i] / all_weights * most_weight)));
  }
  return s;
}

}  // namespace

std::vector<int> graph_strategy::cut(const cut_task& t) const {
  subgraph s = graph_of(t.problem, t.elements, t.weights);
  auto num_elements = static_cast<idx_t>(t.elements.size());
  // METIS does not take parts without a share: only the others are cut.
  std::vector<int> part_numbers;
  std::vector<real_t> shares;
  for (std::size_t k = 0; k < t.shares.size(); ++k) {
    if (t.shares[k] <= 0) continue;
    part_numbers.push_back(static_cast<int>(k));
    shares.push_back(static_cast<real_t>(t.shares[k]));
  }
  auto num_parts = static_cast<idx_t>(shares.size());
  std::vector<idx_t> parts(t.elements.size());
  if (num_parts > 1) {
    std::array<idx_t, METIS_NOPTIONS> options{};
    METIS_SetDefaultOptions(options.data());
    options[METIS_OPTION_SEED] = 1;
    options[METIS_OPTION_NUMBERING] = 0;
    idx_t num_weights = 1;
    idx_t bytes_cut = 0;
    real_t uneven = static_cast<real_t>(1.02);
    auto* const partition = num_parts <= 8 ? &METIS_PartGraphRecursive : &METIS_PartGraphKway;
    const int result = partition(&num_elements, &num_weights, s.first.data(), s.partner.data(), s.weights.data(), nullptr,
                                 s.bytes.data(), &num_parts, shares.data(), &uneven, options.data(), &bytes_cut,
                                 parts.data());
    if (result != METIS_OK) {
      throw error(fmt::format("METIS could not cut a graph of {} elements into {} parts, result {}: choose another strategy",
                              num_elements, num_parts, result));
    }
  }
  std::vector<int> all;
  all.reserve(parts.size());
  for (const idx_t part : parts) all.push_back(part_numbers[static_cast<std::size_t>(part)]);
  return all;
}

void graph_strategy::check_input(const balance_problem& problem) const {
  if (!problem.communication.empty() || problem.elements.empty()) return;
  throw usage_error(fmt::format(
      "strategy 'graph' cuts by who sends to whom, but nothing is known of that for {} elements: choose another strategy, "
      "such as refine",
      problem.elements.size()));
}

}  // namespace imbrex
