#include "imbrex/balance/balance_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

struct all_times {
  std::vector<double> pes;
  std::vector<double> gpus;
};

/// Sums in the order of the elements: the same bits for the same placement, always.
all_times times_of(const balance_problem& p, std::span<const int> placement) {
  all_times t{std::vector<double>(p.pes.size()), std::vector<double>(p.gpus.size())};
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const balance_element& e = p.elements[i];
    const auto pe = static_cast<std::size_t>(placement[i]);
    t.pes[pe] += e.host_seconds;
    if (e.gpu_seconds > 0) t.gpus[static_cast<std::size_t>(p.pes[pe].gpu)] += e.gpu_seconds;
  }
  for (std::size_t i = 0; i < p.pes.size(); ++i) t.pes[i] = p.pes[i].background_seconds + t.pes[i] / p.pes[i].rate;
  for (std::size_t i = 0; i < p.gpus.size(); ++i) t.gpus[i] = p.gpus[i].background_seconds + t.gpus[i] / p.gpus[i].rate;
  return t;
}

template <class Resource>
load_summary summary_of(const std::vector<double>& times, const std::vector<Resource>& all) {
  load_summary s;
  double work = 0;
  double rates = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    work += times[i] * all[i].rate;
    rates += all[i].rate;
    if (s.busiest < 0 || times[i] > s.max) {
      s.max = times[i];
      s.busiest = static_cast<int>(i);
    }
  }
  // Rounding must not make an even load more than even.
  if (rates > 0) s.mean = std::min(work / rates, s.max);
  return s;
}

void count_bytes(const balance_problem& p, std::span<const int> placement, judgement& j) {
  const communication_graph& g = p.communication;
  for (std::size_t i = 0; i + 1 < g.first.size(); ++i) {
    const balance_pe& mine = p.pes[static_cast<std::size_t>(placement[i])];
    for (std::size_t k = g.first[i]; k < g.first[i + 1]; ++k) {
      const auto other = static_cast<std::size_t>(g.partner[k]);
      if (other < i || placement[other] == placement[i]) continue;
      const balance_pe& its = p.pes[static_cast<std::size_t>(placement[other])];
      j.bytes_between_pes += g.bytes[k];
      if (mine.rank != its.rank) j.bytes_between_ranks += g.bytes[k];
      if (mine.node != its.node) j.bytes_between_nodes += g.bytes[k];
    }
  }
}

}  // namespace

void check_plan(const balance_problem& problem, const balance_plan& plan) {
  std::vector<bool> named(problem.elements.size());
  for (const balance_move& m : plan.moves) {
    const auto number = static_cast<std::size_t>(m.element);
    if (m.element < 0 || number >= named.size())
      throw usage_error(fmt::format("a plan moves element {}, but there are {}", m.element, named.size()));
    if (m.to < 0 || static_cast<std::size_t>(m.to) >= problem.pes.size()) {
      throw usage_error(
          fmt::format("a plan moves element {} to PE {}, but there are {}", m.element, m.to, problem.pes.size()));
    }
    const balance_element& e = problem.elements[number];
    const char* why = nullptr;
    if (named[number])
      why = "and names it twice: name it once";
    else if (e.pinned)
      why = "but it is pinned: leave it out";
    else if (e.pe == m.to)
      why = "where it is: leave it out";
    else if (e.needs_gpu() && problem.pes[static_cast<std::size_t>(m.to)].gpu == no_gpu)
      why = "but it needs a GPU, which that PE has not: choose another PE";
    if (why != nullptr) throw usage_error(fmt::format("a plan moves element {} to PE {}, {}", m.element, m.to, why));
    named[number] = true;
  }
}

std::vector<int> placement_after(const balance_problem& problem, const balance_plan& plan) {
  std::vector<int> placement(problem.elements.size());
  std::ranges::transform(problem.elements, placement.begin(), &balance_element::pe);
  for (const balance_move& m : plan.moves) placement[static_cast<std::size_t>(m.element)] = m.to;
  return placement;
}

balance_plan plan_to(const balance_problem& problem, std::span<const int> placement) {
  if (placement.size() != problem.elements.size()) {
    throw usage_error(fmt::format("a placement of {} elements was given where there are {}: name a PE for each",
                                  placement.size(), problem.elements.size()));
  }
  balance_plan plan;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    if (placement[i] != problem.elements[i].pe) plan.moves.push_back({static_cast<int>(i), placement[i]});
  }
  return plan;
}

double predicted_time(const balance_problem& problem, std::span<const int> placement) {
  const all_times t = times_of(problem, placement);
  double longest = 0;
  for (const double x : t.pes) longest = std::max(longest, x);
  for (const double x : t.gpus) longest = std::max(longest, x);
  return longest;
}

std::vector<memory_excess> memory_excesses(const balance_problem& problem, std::span<const int> placement) {
  std::vector<std::uint64_t> used(problem.gpus.size());
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const std::uint64_t bytes = problem.elements[i].device_bytes;
    if (bytes > 0) used[static_cast<std::size_t>(problem.pes[static_cast<std::size_t>(placement[i])].gpu)] += bytes;
  }
  std::vector<memory_excess> found;
  for (std::size_t g = 0; g < used.size(); ++g) {
    if (used[g] > problem.gpus[g].memory_bytes)
      found.push_back({static_cast<int>(g), used[g], problem.gpus[g].memory_bytes});
  }
  return found;
}

double bytes_between_pes(const balance_problem& problem, std::span<const int> placement) {
  judgement j;
  count_bytes(problem, placement, j);
  return j.bytes_between_pes;
}

judgement judge(const balance_problem& problem, const balance_plan& plan) {
  const std::vector<int> placement = placement_after(problem, plan);
  all_times t = times_of(problem, placement);
  judgement j;
  j.pe_times = std::move(t.pes);
  j.gpu_times = std::move(t.gpus);
  j.pes = summary_of(j.pe_times, problem.pes);
  j.gpus = summary_of(j.gpu_times, problem.gpus);
  j.time = std::max(j.pes.max, j.gpus.max);
  if (j.time > 0) j.efficiency = std::max(j.pes.mean, j.gpus.mean) / j.time;
  count_bytes(problem, placement, j);
  j.num_moves = plan.moves.size();
  for (const balance_move& m : plan.moves)
    j.moved_bytes += problem.elements[static_cast<std::size_t>(m.element)].move_bytes;
  j.excesses = memory_excesses(problem, placement);
  return j;
}

}  // namespace imbrex
