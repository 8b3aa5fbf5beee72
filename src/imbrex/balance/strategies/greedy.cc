#include <algorithm>
#include <cstddef>
#include <vector>

#include "imbrex/balance/strategies/load_board.h"
#include "imbrex/balance/strategies/memory_fit.h"
#include "imbrex/balance/strategies/strategies.h"

namespace imbrex {

namespace {

struct weighted {
  double weight;
  int element;
};

bool is_before(const weighted& a, const weighted& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.element < b.element;
}

/// Those that can move, the heaviest first. Weight is the share of all work, on the host or on GPUs, whichever is more.
std::vector<weighted> heaviest_first(const balance_problem& p) {
  double host_rates = 0;
  double gpu_rates = 0;
  for (const balance_pe& pe : p.pes) host_rates += pe.rate;
  for (const balance_gpu& g : p.gpus) gpu_rates += g.rate;
  const double per_gpu_second = gpu_rates > 0 ? host_rates / gpu_rates : 0;
  std::vector<weighted> all;
  all.reserve(p.elements.size());
  for (std::size_t i = 0; i < p.elements.size(); ++i) {
    const balance_element& e = p.elements[i];
    if (!e.pinned) all.push_back({std::max(e.host_seconds, e.gpu_seconds * per_gpu_second), static_cast<int>(i)});
  }
  std::ranges::sort(all, is_before);
  return all;
}

/// False: one fits nowhere any more.
bool place_in_order(const balance_problem& p, const std::vector<weighted>& order, std::vector<int>& placement) {
  std::vector<int> pinned = placement;
  for (const weighted& w : order) pinned[static_cast<std::size_t>(w.element)] = -1;
  detail::load_board board(p, pinned);
  for (const weighted& w : order) {
    const auto i = static_cast<std::size_t>(w.element);
    const balance_element& e = p.elements[i];
    const int stays = placement[i];
    int to = board.earliest(e);
    if (to < 0) return false;
    if (board.fits(e, stays) && board.end(e, stays) <= board.end(e, to)) to = stays;
    board.add(e, to);
    placement[i] = to;
  }
  return true;
}

}  // namespace

balance_plan greedy_strategy::plan(const balance_problem& problem) const {
  check_problem(problem);
  const std::vector<int> fitting = detail::fitting_placement(problem);
  std::vector<weighted> order = heaviest_first(problem);
  std::vector<int> placement = fitting;
  if (!place_in_order(problem, order, placement)) {
    // Memory is short: what needs most of it goes first.
    const auto bytes = [&](const weighted& w) {
      return problem.elements[static_cast<std::size_t>(w.element)].device_bytes;
    };
    std::ranges::sort(order, [bytes](const weighted& a, const weighted& b) {
      return bytes(a) != bytes(b) ? bytes(a) > bytes(b) : is_before(a, b);
    });
    placement = fitting;
    if (!place_in_order(problem, order, placement)) placement = fitting;
  }
  return detail::better_plan(problem, std::move(placement));
}

balance_plan no_strategy::plan(const balance_problem& problem) const {
  check_problem(problem);
  return {};
}

}  // namespace imbrex
