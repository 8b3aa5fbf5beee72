#include "imbrex/balance/strategies/metis_partition.h"

#include <fmt/format.h>
#include <metis.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
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

class graph_cutter {
 public:
  explicit graph_cutter(const balance_problem& p) : graph_(p.communication), number_(p.elements.size(), -1) {
    double all = 0;
    for (const double b : graph_.bytes) all += b;
    if (all > 0) byte_scale_ = std::min(1.0, most_weight / all);
  }

  /// Cuts these elements into parts of these shares. METIS takes no part without a share, and what weighs nothing is
  /// not to be cut.
  std::vector<int> cut(std::span<const int> elements, std::span<const double> weights, std::span<const double> shares) {
    std::vector<int> part_numbers;
    std::vector<real_t> targets;
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (std::size_t k = 0; k < shares.size(); ++k) {
      if (shares[k] <= 0) continue;
      part_numbers.push_back(static_cast<int>(k));
      targets.push_back(static_cast<real_t>(shares[k] / sum));
    }
    if (part_numbers.empty()) part_numbers.push_back(0);
    std::vector<int> parts(elements.size(), part_numbers[0]);
    const bool weighs_nothing = std::ranges::all_of(weights, [](double w) { return !(w > 0); });
    if (part_numbers.size() == 1 || weighs_nothing) return parts;
    const std::vector<idx_t> found = cut_by_metis(elements, weights, targets);
    std::ranges::transform(found, parts.begin(), [&](idx_t k) { return part_numbers[static_cast<std::size_t>(k)]; });
    return parts;
  }

 private:
  subgraph among(std::span<const int> elements, std::span<const double> weights) {
    const double all_weights = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t i = 0; i < elements.size(); ++i)
      number_[static_cast<std::size_t>(elements[i])] = static_cast<idx_t>(i);
    subgraph s;
    s.first.push_back(0);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto e = static_cast<std::size_t>(elements[i]);
      for (std::size_t k = graph_.first[e]; k < graph_.first[e + 1]; ++k) {
        const idx_t other = number_[static_cast<std::size_t>(graph_.partner[k])];
        if (other < 0) continue;
        s.partner.push_back(other);
        s.bytes.push_back(std::max<idx_t>(1, static_cast<idx_t>(graph_.bytes[k] * byte_scale_)));
      }
      s.first.push_back(static_cast<idx_t>(s.partner.size()));
      s.weights.push_back(static_cast<idx_t>(std::lround(weights[i] / all_weights * most_weight)));
    }
    for (const int e : elements) number_[static_cast<std::size_t>(e)] = -1;
    return s;
  }

  std::vector<idx_t> cut_by_metis(std::span<const int> elements, std::span<const double> weights,
                                  std::vector<real_t>& targets) {
    subgraph s = among(elements, weights);
    auto num_elements = static_cast<idx_t>(elements.size());
    auto num_parts = static_cast<idx_t>(targets.size());
    std::array<idx_t, METIS_NOPTIONS> options{};
    METIS_SetDefaultOptions(options.data());
    options[METIS_OPTION_SEED] = 1;
    options[METIS_OPTION_NUMBERING] = 0;
    idx_t num_weights = 1;
    idx_t bytes_cut = 0;
    auto uneven = static_cast<real_t>(1.02);
    std::vector<idx_t> found(elements.size());
    auto* const partition = num_parts <= 8 ? &METIS_PartGraphRecursive : &METIS_PartGraphKway;
    const int result =
        partition(&num_elements, &num_weights, s.first.data(), s.partner.data(), s.weights.data(), nullptr,
                  s.bytes.data(), &num_parts, targets.data(), &uneven, options.data(), &bytes_cut, found.data());
    if (result == METIS_OK) return found;
    throw error(
        fmt::format("METIS could not cut a graph of {} elements into {} parts, result {}: choose another strategy",
                    num_elements, num_parts, result));
  }

  const communication_graph& graph_;
  double byte_scale_ = 0;
  std::vector<idx_t> number_;  // of the elements that are being cut, among them; -1 of others
};

}  // namespace

std::vector<int> graph_strategy::cut(const cut_task& t) const {
  std::vector<std::size_t> first;  // part of each node
  std::vector<double> of_nodes;
  for (std::size_t k = 0; k < t.shares.size(); ++k) {
    if (k == 0 || t.nodes[k] != t.nodes[k - 1]) {
      first.push_back(k);
      of_nodes.push_back(0);
    }
    of_nodes.back() += t.shares[k];
  }
  first.push_back(t.shares.size());
  graph_cutter cutter(t.problem);
  const std::vector<int> node = cutter.cut(t.elements, t.weights, of_nodes);
  std::vector<std::vector<std::size_t>> inside(of_nodes.size());
  for (std::size_t i = 0; i < node.size(); ++i) inside[static_cast<std::size_t>(node[i])].push_back(i);
  std::vector<int> parts(node.size());
  for (std::size_t k = 0; k < inside.size(); ++k) {
    std::vector<int> elements;
    std::vector<double> weights;
    for (const std::size_t i : inside[k]) {
      elements.push_back(t.elements[i]);
      weights.push_back(t.weights[i]);
    }
    const std::vector<int> part = cutter.cut(elements, weights, t.shares.subspan(first[k], first[k + 1] - first[k]));
    for (std::size_t i = 0; i < part.size(); ++i) parts[inside[k][i]] = static_cast<int>(first[k]) + part[i];
  }
  return parts;
}

void graph_strategy::check_input(const balance_problem& problem) const {
  if (!problem.communication.empty() || problem.elements.empty()) return;
  throw usage_error(
      fmt::format("strategy 'graph' cuts by who sends to whom, but nothing is known of that for {} elements: choose "
                  "another strategy, "
                  "such as refine",
                  problem.elements.size()));
}

}  // namespace imbrex
