#include "imbrex/balance/strategies/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "imbrex/balance/strategies/as_index.h"
#include "imbrex/balance/strategies/memory_fit.h"
#include "imbrex/balance/strategies/refiner.h"
#include "imbrex/base/error.h"

namespace imbrex {

namespace {

/// What there is of one kind, PEs or GPUs: how fast, and how long they have to do already.
struct capacity {
  double rate;
  double busy;
};

/// How much of `work` each takes, so that those who take some are all done at the same time, and no others later than
/// them.
std::vector<double> filled(const std::vector<capacity>& all, double work) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(all[i].busy, i); });
  double rates = 0;
  double sum = work;
  double done = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const capacity& c = all[order[k]];
    if (k > 0 && done <= c.busy) break;
    rates += c.rate;
    sum += c.busy * c.rate;
    done = sum / rates;
  }
  std::vector<double> parts;
  parts.reserve(all.size());
  for (const capacity& c : all) parts.push_back(std::max(0.0, (done - c.busy) * c.rate));
  return parts;
}

/// By node, rank and number.
std::vector<int> pes_in_order(const balance_problem& p, bool with_gpu_only) {
  std::vector<int> pes;
  for (std::size_t i = 0; i < p.pes.size(); ++i) {
    if (!with_gpu_only || p.pes[i].gpu != no_gpu) pes.push_back(static_cast<int>(i));
  }
  std::ranges::sort(pes, {},
                    [&](int pe) { return std::tuple(p.pes[as_index(pe)].node, p.pes[as_index(pe)].rank, pe); });
  return pes;
}

/// What of a part is where at present.
struct common_weight {
  int part;
  int present;
  double weight;
};

/// Sums those of the same part and present place; the largest first.
void sum_up(std::vector<common_weight>& all) {
  const auto key = [](const common_weight& c) { return std::pair(c.part, c.present); };
  std::ranges::sort(all, {}, [&](const common_weight& c) { return std::tuple(c.part, c.present, c.weight); });
  std::size_t num = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (num > 0 && key(all[num - 1]) == key(all[k]))
      all[num - 1].weight += all[k].weight;
    else
      all[num++] = all[k];
  }
  all.resize(num);
  std::ranges::sort(all, {}, [](const common_weight& c) { return std::tuple(-c.weight, c.part, c.present); });
}

/// For each of `num` its new place, one for each: where most of it is, as far as `may` allows; itself is always
/// allowed.
template <class May>
std::vector<int> keep_most(std::vector<common_weight> common, std::size_t num, May may) {
  sum_up(common);
  std::vector<int> now(num, -1);
  std::vector<bool> is_taken(num);
  const auto take = [&](int part, int place) {
    if (now[as_index(part)] >= 0 || is_taken[as_index(place)] || !may(part, place)) return;
    now[as_index(part)] = place;
    is_taken[as_index(place)] = true;
  };
  for (const common_weight& c : common) take(c.part, c.present);
  for (int i = 0; i < static_cast<int>(num); ++i) take(i, i);
  for (int i = 0; i < static_cast<int>(num); ++i) {
    for (int k = 0; now[as_index(i)] < 0 && k < static_cast<int>(num); ++k) take(i, k);
  }
  return now;
}

/// Parts of nodes: node k has those from `first[k]` to before `first[k + 1]`.
struct node_parts {
  std::vector<int> node_of;
  std::vector<int> first;
};

node_parts parts_of_nodes(std::span<const int> nodes) {
  node_parts n;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (k == 0 || nodes[k] != nodes[k - 1]) n.first.push_back(static_cast<int>(k));
    n.node_of.push_back(static_cast<int>(n.first.size()) - 1);
  }
  n.first.push_back(static_cast<int>(nodes.size()));
  return n;
}

/// Lets nodes of the same shares change places, and then parts of a node; `present` is the part where each element is,
/// or -1.
void stay_near(const std::vector<int>& present, const std::vector<double>& weights, const std::vector<double>& shares,
               std::span<const int> nodes, std::vector<int>& parts) {
  const node_parts n = parts_of_nodes(nodes);
  std::vector<common_weight> common;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (present[i] >= 0) common.push_back({n.node_of[as_index(parts[i])], n.node_of[as_index(present[i])], weights[i]});
  }
  const auto shares_of = [&](int node) {
    return std::span(shares).subspan(as_index(n.first[as_index(node)]),
                                     as_index(n.first[as_index(node) + 1] - n.first[as_index(node)]));
  };
  const std::vector<int> node_now = keep_most(std::move(common), n.first.size() - 1, [&](int a, int b) {
    return std::ranges::equal(shares_of(a), shares_of(b));
  });
  for (int& part : parts) {
    const int node = n.node_of[as_index(part)];
    part += n.first[as_index(node_now[as_index(node)])] - n.first[as_index(node)];
  }
  common.clear();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (present[i] >= 0 && n.node_of[as_index(parts[i])] == n.node_of[as_index(present[i])])
      common.push_back({parts[i], present[i], weights[i]});
  }
  const std::vector<int> part_now = keep_most(std::move(common), shares.size(), [&](int a, int b) {
    return n.node_of[as_index(a)] == n.node_of[as_index(b)] && shares[as_index(a)] == shares[as_index(b)];
  });
  for (int& part : parts) part = part_now[as_index(part)];
}

void scale_to_one(std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& s : shares) s /= sum;
}

}  // namespace

/// Some elements, and the PEs among which they are cut.
struct partition_strategy::phase {
  const balance_problem& problem;
  std::vector<int> elements;
  std::vector<int> pes;
  std::vector<double> weights;
  std::vector<double> shares;
  const std::vector<int>& settled;  // placement of all that is not cut any more, -1 for the rest

  void weigh(bool on_gpus) {
    const detail::load_board board(problem, settled);
    double host = 0;
    double gpu = 0;
    for (const int i : elements) {
      host += problem.elements[as_index(i)].host_seconds;
      gpu += problem.elements[as_index(i)].gpu_seconds;
    }
    std::vector<capacity> hosts;
    hosts.reserve(pes.size());
    for (const int pe : pes) hosts.push_back({problem.pes[as_index(pe)].rate, board.pe_time(pe)});
    double host_rates = 0;
    for (const capacity& c : hosts) host_rates += c.rate;
    shares = filled(hosts, host);
    for (double& s : shares) s /= host_rates;
    double gpu_rates = 0;
    if (on_gpus) {
      std::vector<int> num_pes(problem.gpus.size());
      for (const int pe : pes) ++num_pes[as_index(problem.pes[as_index(pe)].gpu)];
      std::vector<capacity> gpus;
      std::vector<std::size_t> place(problem.gpus.size());
      for (std::size_t g = 0; g < num_pes.size(); ++g) {
        if (num_pes[g] == 0) continue;
        place[g] = gpus.size();
        gpus.push_back({problem.gpus[g].rate, board.gpu_time(static_cast<int>(g))});
        gpu_rates += problem.gpus[g].rate;
      }
      const std::vector<double> of_gpus = filled(gpus, gpu);
      for (std::size_t k = 0; k < pes.size(); ++k) {
        const std::size_t g = as_index(problem.pes[as_index(pes[k])].gpu);
        shares[k] += of_gpus[place[g]] / (gpu_rates * num_pes[g]);
      }
    }
    // A second of the host, or of a GPU, counts as much as it lengthens the step where all is even.
    weights.reserve(elements.size());
    for (const int i : elements) {
      const balance_element& e = problem.elements[as_index(i)];
      weights.push_back(e.host_seconds / host_rates + (on_gpus ? e.gpu_seconds / gpu_rates : 0));
    }
  }
};

void partition_strategy::place(const phase& f, std::vector<int>& placement) const {
  const double sum = std::accumulate(f.weights.begin(), f.weights.end(), 0.0);
  if (!(sum > 0) || f.pes.size() == 1) {  // what weighs nothing stays
    for (const int e : f.elements)
      placement[as_index(e)] = f.pes.size() == 1 ? f.pes[0] : f.problem.elements[as_index(e)].pe;
    return;
  }
  std::vector<double> shares = f.shares;
  scale_to_one(shares);
  std::vector<int> nodes;
  nodes.reserve(f.pes.size());
  for (const int pe : f.pes) nodes.push_back(f.problem.pes[as_index(pe)].node);
  std::vector<int> parts = cut({f.problem, f.elements, f.weights, shares, nodes});
  if (is_rough()) {
    std::vector<int> part_of(f.problem.pes.size(), -1);
    for (std::size_t k = 0; k < f.pes.size(); ++k) part_of[as_index(f.pes[k])] = static_cast<int>(k);
    std::vector<int> present;
    present.reserve(parts.size());
    for (const int e : f.elements) present.push_back(part_of[as_index(f.problem.elements[as_index(e)].pe)]);
    stay_near(present, f.weights, shares, nodes, parts);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) placement[as_index(f.elements[i])] = f.pes[as_index(parts[i])];
}

balance_plan partition_strategy::plan(const balance_problem& problem) const {
  check_problem(problem);
  check_input(problem);
  std::vector<int> placement = detail::fitting_placement(problem);
  std::vector<int> on_gpus;
  std::vector<int> others;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const balance_element& e = problem.elements[i];
    if (e.pinned) continue;
    placement[i] = -1;
    (e.needs_gpu() ? on_gpus : others).push_back(static_cast<int>(i));
  }
  const bool has_gpu_work = !on_gpus.empty();
  for (const bool gpu_phase : {true, false}) {
    std::vector<int>& elements = gpu_phase ? on_gpus : others;
    if (elements.empty()) continue;
    phase f{problem, std::move(elements), pes_in_order(problem, gpu_phase), {}, {}, placement};
    f.weigh(gpu_phase);
    place(f, placement);
  }
  if ((has_gpu_work || is_rough()) && detail::fit_memory(problem, placement)) {
    placement = detail::refined(problem, std::move(placement), {0.02, true});
    if (is_rough()) detail::draw_together(problem, placement, predicted_time(problem, placement));
  }
  return detail::better_plan(problem, std::move(placement), detail::worth_moving::for_time_or_bytes);
}

void check_has_places(const balance_problem& problem, const char* strategy) {
  if (!problem.places.empty() || problem.elements.empty()) return;
  throw usage_error(
      fmt::format("strategy '{}' cuts space, but the {} elements have no places: give each its coordinates, or choose "
                  "another strategy, such as refine",
                  strategy, problem.elements.size()));
}

}  // namespace imbrex
