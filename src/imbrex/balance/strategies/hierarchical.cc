#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "imbrex/balance/strategies/as_index.h"
#include "imbrex/balance/strategies/load_board.h"
#include "imbrex/balance/strategies/memory_fit.h"
#include "imbrex/balance/strategies/refiner.h"
#include "imbrex/balance/strategies/strategies.h"

namespace imbrex {

namespace {

using level = int (*)(const balance_problem&, int pe);
constexpr level levels[] = {
    [](const balance_problem& p, int pe) { return p.pes[as_index(pe)].node; },
    [](const balance_problem& p, int pe) { return p.pes[as_index(pe)].rank; },
    [](const balance_problem&, int pe) { return pe; },
};
constexpr std::size_t num_levels = std::size(levels);
// What each level leaves uneven, all below inherit.
constexpr double tolerances[num_levels] = {0.002, 0.005, 0.015};

/// Some PEs, by groups: each group is one PE of a smaller problem, with the rates of all its PEs together. GPUs that
/// groups share, or that one group has, are one.
struct grouping {
  std::vector<std::vector<int>> groups;
  std::vector<int> group_of;  // by PE; -1: not one of them
};

grouping groups_of(const balance_problem& p, const std::vector<int>& pes, level l) {
  grouping g;
  g.group_of.assign(p.pes.size(), -1);
  std::vector<std::pair<int, int>> keys;
  keys.reserve(pes.size());
  for (const int pe : pes) keys.emplace_back(l(p, pe), pe);
  std::ranges::sort(keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || keys[i].first != keys[i - 1].first) g.groups.emplace_back();
    g.groups.back().push_back(keys[i].second);
    g.group_of[as_index(keys[i].second)] = static_cast<int>(g.groups.size()) - 1;
  }
  return g;
}

/// The first of all GPUs that are one.
std::vector<int> joined_gpus(const balance_problem& p, const grouping& g) {
  std::vector<int> joined(p.gpus.size());
  std::iota(joined.begin(), joined.end(), 0);
  const auto root = [&](int gpu) {
    while (joined[as_index(gpu)] != gpu) gpu = joined[as_index(gpu)];
    return gpu;
  };
  for (const auto& group : g.groups) {
    int first = no_gpu;
    for (const int pe : group) {
      const int gpu = p.pes[as_index(pe)].gpu;
      if (gpu == no_gpu) continue;
      if (first == no_gpu) first = gpu;
      const int a = root(first);
      const int b = root(gpu);
      joined[as_index(std::max(a, b))] = std::min(a, b);
    }
  }
  for (int i = 0; i < static_cast<int>(joined.size()); ++i) joined[as_index(i)] = root(i);
  return joined;
}

/// The machine of the smaller problem, without elements.
balance_problem machine_of(const balance_problem& p, const grouping& g) {
  balance_problem smaller;
  const std::vector<int> joined = joined_gpus(p, g);
  std::vector<int> number(joined.size(), -1);
  std::vector<bool> counted(joined.size());
  for (const auto& group : g.groups) {
    balance_pe all{p.pes[as_index(group.front())].rank, p.pes[as_index(group.front())].node, no_gpu, 0, 0};
    for (const int i : group) {
      const balance_pe& pe = p.pes[as_index(i)];
      all.rate += pe.rate;
      all.background_seconds += pe.background_seconds * pe.rate;
      if (pe.gpu == no_gpu) continue;
      int& joint = number[as_index(joined[as_index(pe.gpu)])];
      if (joint < 0) {
        joint = static_cast<int>(smaller.gpus.size());
        smaller.gpus.push_back({0, 0, 0});
      }
      all.gpu = joint;
      if (counted[as_index(pe.gpu)]) continue;
      counted[as_index(pe.gpu)] = true;
      const balance_gpu& own = p.gpus[as_index(pe.gpu)];
      balance_gpu& sum = smaller.gpus[as_index(joint)];
      sum.rate += own.rate;
      sum.background_seconds += own.background_seconds * own.rate;
      sum.memory_bytes += std::min(own.memory_bytes, unlimited_bytes - sum.memory_bytes);
    }
    all.background_seconds /= all.rate;
    smaller.pes.push_back(all);
  }
  for (balance_gpu& gpu : smaller.gpus) gpu.background_seconds /= gpu.rate;
  return smaller;
}

class descent {
 public:
  descent(const balance_problem& p, std::vector<int> placement) : p_(p), placement_(std::move(placement)) {}

  /// False: memory was too scattered.
  bool place(const std::vector<int>& elements, const std::vector<int>& pes, std::size_t l) {
    if (l == num_levels || elements.empty()) return true;
    const grouping g = groups_of(p_, pes, levels[l]);
    std::vector<std::vector<int>> elements_of(g.groups.size());
    if (g.groups.size() == 1) {
      elements_of[0] = elements;
      if (l + 1 == num_levels) {
        for (const int e : elements) placement_[as_index(e)] = g.groups[0][0];
      }
    } else {
      balance_problem smaller = machine_of(p_, g);
      if (!begin(smaller, elements, g)) return false;
      const std::vector<int> to = detail::refined(smaller, placement_after(smaller, {}), {tolerances[l], false});
      for (std::size_t i = 0; i < elements.size(); ++i) {
        elements_of[as_index(to[i])].push_back(elements[i]);
        if (l + 1 == num_levels) placement_[as_index(elements[i])] = g.groups[as_index(to[i])][0];
      }
    }
    for (std::size_t k = 0; k < g.groups.size(); ++k) {
      if (!place(elements_of[k], g.groups[k], l + 1)) return false;
    }
    return true;
  }

  std::vector<int>& placement() { return placement_; }

 private:
  /// Elements are in the group where they were; those that come from elsewhere, the heaviest first, where they would be
  /// done first.
  bool begin(balance_problem& smaller, const std::vector<int>& elements, const grouping& g) const {
    std::vector<int> comers;
    std::vector<int> begun;
    smaller.elements.reserve(elements.size());
    begun.reserve(elements.size());
    for (const int number : elements) {
      begun.push_back(g.group_of[as_index(placement_[as_index(number)])]);
      if (begun.back() < 0) comers.push_back(static_cast<int>(smaller.elements.size()));
      smaller.elements.push_back(p_.elements[as_index(number)]);
      smaller.elements.back().pe = begun.back();
    }
    const auto weight = [&](int i) {
      return std::max(smaller.elements[as_index(i)].host_seconds, smaller.elements[as_index(i)].gpu_seconds);
    };
    std::ranges::sort(comers,
                      [weight](int a, int b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a < b; });
    detail::load_board board(smaller, begun);
    for (const int i : comers) {
      balance_element& e = smaller.elements[as_index(i)];
      e.pe = board.earliest(e);
      if (e.pe < 0) return false;
      board.add(e, e.pe);
    }
    return true;
  }

  const balance_problem& p_;
  std::vector<int> placement_;
};

}  // namespace

balance_plan hierarchical_strategy::plan(const balance_problem& problem) const {
  check_problem(problem);
  const std::vector<int> fitting = detail::fitting_placement(problem);
  std::vector<int> elements(problem.elements.size());
  std::iota(elements.begin(), elements.end(), 0);
  std::vector<int> pes(problem.pes.size());
  std::iota(pes.begin(), pes.end(), 0);
  descent d(problem, fitting);
  if (!d.place(elements, pes, 0)) return detail::better_plan(problem, detail::refined(problem, fitting, {}));
  return detail::better_plan(problem, std::move(d.placement()));
}

}  // namespace imbrex
