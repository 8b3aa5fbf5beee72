#include "imbrex/balance/live/live_plan.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace imbrex {

namespace {

std::vector<measured_pe> by_number(std::vector<measured_pe> pes) {
  std::ranges::sort(pes, {}, &measured_pe::pe);
  return pes;
}

communication_graph exchanges_of(const element_loads& loads) {
  if (loads.exchanges.empty()) return {};
  std::unordered_map<std::uint64_t, int> number;
  number.reserve(loads.all.size());
  for (std::size_t i = 0; i < loads.all.size(); ++i) number[loads.all[i].identity] = static_cast<int>(i);
  std::vector<balance_traffic> all;
  all.reserve(loads.exchanges.size());
  for (const element_exchange& e : loads.exchanges) {
    const auto from = number.find(e.from), to = number.find(e.to);
    if (from != number.end() && to != number.end()) all.push_back({from->second, to->second, e.bytes});
  }
  return communication_graph::of(loads.all.size(), all);
}

/// What a GPU has for elements: what theirs take now, and what is free.
void limit_memory(balance_problem& p, const element_loads& loads) {
  if (p.gpus.empty()) return;
  std::vector<std::uint64_t> taken(p.gpus.size(), 0);
  for (const balance_element& e : p.elements) {
    if (const int gpu = p.pes[static_cast<std::size_t>(e.pe)].gpu; gpu != no_gpu)
      taken[static_cast<std::size_t>(gpu)] += e.device_bytes;
  }
  for (const measured_pe& m : loads.pes) {
    if (m.gpu == measured_pe::none) continue;
    const auto gpu = static_cast<std::size_t>(p.pes[static_cast<std::size_t>(m.pe)].gpu);
    p.gpus[gpu].memory_bytes = taken[gpu] + m.gpu_free_bytes;
  }
}

void add_places(balance_problem& p, const element_loads& loads, bool uses_places) {
  const auto has_place = [](const element_load& l) { return l.num_dimensions > 0; };
  const auto num = std::ranges::count_if(loads.all, has_place);
  if (num == 0 || (num < std::ssize(loads.all) && !uses_places)) return;
  p.places.reserve(loads.all.size());
  for (std::size_t i = 0; i < loads.all.size(); ++i) {
    const element_load& l = loads.all[i];
    p.places.push_back(l.place);
    p.num_dimensions = std::max(p.num_dimensions, l.num_dimensions);
    if (!has_place(l)) p.elements[i].pinned = true;
  }
}

}  // namespace

balance_problem problem_of(const element_loads& loads, const pe_shape& shape, bool uses_places) {
  balance_problem p;
  p.elements.reserve(loads.all.size());
  p.pes.reserve(static_cast<std::size_t>(shape.num_pes));
  for (int i = 0; i < shape.num_pes; ++i) {
    const int rank = i / shape.pes_per_rank;
    p.pes.push_back({.rank = rank, .node = rank / shape.ranks_per_node});
  }
  std::map<std::int32_t, int> gpus;  // by number, in order of PEs
  for (const measured_pe& m : by_number(loads.pes)) {
    p.pes[static_cast<std::size_t>(m.pe)].rate = m.speed;
    if (m.gpu == measured_pe::none) continue;
    const auto [known, is_new] = gpus.emplace(m.gpu, static_cast<int>(p.gpus.size()));
    if (is_new) p.gpus.push_back({.rate = m.gpu_speed});
    p.pes[static_cast<std::size_t>(m.pe)].gpu = known->second;
  }
  p.communication = exchanges_of(loads);
  for (const element_load& l : loads.all) {
    p.elements.push_back({.host_seconds = static_cast<double>(l.host_ns) * 1e-9,
                          .gpu_seconds = static_cast<double>(l.gpu_ns) * 1e-9,
                          .host_bytes = l.host_bytes,
                          .device_bytes = l.device_bytes,
                          .move_bytes = l.host_bytes + l.device_bytes,
                          .pe = l.pe,
                          .pinned = l.pinned || l.is_idle()});
  }
  limit_memory(p, loads);
  add_places(p, loads, uses_places);
  return p;
}

namespace {

/// The exchanges of these elements with each other; they are numbered anew, in this order.
communication_graph among(const communication_graph& whole, const std::vector<int>& elements) {
  communication_graph part;
  if (whole.empty()) return part;
  std::unordered_map<int, int> number;
  for (std::size_t i = 0; i < elements.size(); ++i) number[elements[i]] = static_cast<int>(i);
  part.first.push_back(0);
  for (const int e : elements) {
    const auto i = static_cast<std::size_t>(e);
    for (std::size_t k = whole.first[i]; k < whole.first[i + 1]; ++k) {
      const auto partner = number.find(whole.partner[k]);
      if (partner == number.end()) continue;
      part.partner.push_back(partner->second);
      part.bytes.push_back(whole.bytes[k]);
    }
    part.first.push_back(part.partner.size());
  }
  if (part.empty()) part.first.clear();
  return part;
}

/// The part of `whole` that is of one rank, whose first PE becomes PE 0.
balance_problem of_rank(const balance_problem& whole, int rank, const pe_shape& shape, std::vector<int>& elements) {
  balance_problem part;
  const int first = rank * shape.pes_per_rank;
  part.num_dimensions = whole.num_dimensions;
  part.pes.assign(whole.pes.begin() + first, whole.pes.begin() + first + shape.pes_per_rank);
  part.gpus = whole.gpus;  // of which those of other ranks have nothing to do
  elements.clear();
  for (std::size_t i = 0; i < whole.elements.size(); ++i) {
    if (whole.elements[i].pe / shape.pes_per_rank != rank) continue;
    elements.push_back(static_cast<int>(i));
    part.elements.push_back(whole.elements[i]);
    part.elements.back().pe -= first;
    if (!whole.places.empty()) part.places.push_back(whole.places[i]);
  }
  part.communication = among(whole.communication, elements);
  return part;
}

}  // namespace

namespace {

/// Strategies may be the user's.
balance_plan checked_plan(const balance_strategy& strategy, const balance_problem& problem) {
  balance_plan plan = strategy.plan(problem);
  check_plan(problem, plan);
  return plan;
}

}  // namespace

balance_plan plan_live(const balance_strategy& strategy, const balance_problem& problem, const element_loads& loads,
                       const pe_shape& shape) {
  const int num_ranks = shape.num_pes / shape.pes_per_rank;
  const bool all_cross = std::ranges::all_of(
      loads.all, [](const element_load& l) { return l.crosses_processes || l.pinned || l.is_idle(); });
  if (num_ranks == 1 || all_cross) return checked_plan(strategy, problem);
  balance_plan all;
  std::vector<int> elements;
  for (int rank = 0; rank < num_ranks; ++rank) {
    const balance_problem part = of_rank(problem, rank, shape, elements);
    for (const balance_move& m : checked_plan(strategy, part).moves) {
      all.moves.push_back({elements[static_cast<std::size_t>(m.element)], m.to + rank * shape.pes_per_rank});
    }
  }
  std::ranges::sort(all.moves, {}, &balance_move::element);
  return all;
}

bool any_may_move(const balance_problem& problem, const element_loads& loads, const pe_shape& shape) {
  for (std::size_t i = 0; i < loads.all.size(); ++i) {
    if (problem.elements[i].pinned) continue;
    if (shape.pes_per_rank > 1 || (loads.all[i].crosses_processes && shape.num_pes > 1)) return true;
  }
  return false;
}

balance_gain gain_of(const balance_plan& plan, double time_before, double time_after, double planning_seconds,
                     double seconds_per_move, int num_pes) {
  return {.seconds_saved = time_before - time_after,
          .seconds_spent = planning_seconds + static_cast<double>(plan.moves.size()) * seconds_per_move / num_pes};
}

}  // namespace imbrex
