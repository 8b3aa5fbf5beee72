#pragma once

#include <algorithm>
#include <vector>

#include "imbrex/balance/balance_plan.h"
#include "imbrex/base/hash.h"

/// Problems small enough to try everything, and random ones.
namespace small_problems {

using namespace imbrex;

/// PEs of one rank and node, equally fast; an element of each weight, all on PE 0.
inline balance_problem of_weights(const std::vector<double>& seconds, int num_pes) {
  balance_problem p;
  p.pes.resize(static_cast<std::size_t>(num_pes));
  for (const double s : seconds) {
    balance_element e;
    e.host_seconds = s;
    p.elements.push_back(e);
  }
  return p;
}

struct traits {
  int most_elements = 8;
  int most_pes = 3;
  bool has_gpus = false;
  bool has_pinned = false;
  bool has_limits = false;  ///< of memory; the present placement may exceed them
  bool has_rates = false;
};

inline int up_to(random_sequence& r, int most) {
  return static_cast<int>(r.below(static_cast<std::uint64_t>(most) + 1));
}

inline void add_random_machine(random_sequence& r, const traits& t, balance_problem& p) {
  const int num_pes = 1 + up_to(r, t.most_pes - 1);
  const int pes_per_rank = 1 + up_to(r, 2);
  const int ranks_per_node = 1 + up_to(r, 1);
  for (int i = 0; i < num_pes; ++i) {
    balance_pe pe;
    pe.rank = i / pes_per_rank;
    pe.node = pe.rank / ranks_per_node;
    if (t.has_rates) {
      pe.rate = 0.5 + 0.25 * up_to(r, 6);
      if (up_to(r, 3) == 0) pe.background_seconds = 0.5 * up_to(r, 4);
    }
    p.pes.push_back(pe);
  }
  if (!t.has_gpus) return;
  for (int i = 0; i < num_pes; ++i) {
    balance_pe& pe = p.pes[static_cast<std::size_t>(i)];
    const bool shares = i > 0 && p.pes[static_cast<std::size_t>(i) - 1].node == pe.node && up_to(r, 1) == 0;
    if (shares) {
      pe.gpu = p.pes[static_cast<std::size_t>(i) - 1].gpu;
    } else if (up_to(r, 3) > 0) {
      pe.gpu = static_cast<int>(p.gpus.size());
      balance_gpu g;
      if (t.has_rates) g.rate = 1 + up_to(r, 3);
      if (t.has_limits) g.memory_bytes = static_cast<std::uint64_t>(up_to(r, 12));
      p.gpus.push_back(g);
    }
  }
}

inline balance_problem random_problem(std::uint64_t seed, const traits& t) {
  random_sequence r(seed);
  balance_problem p;
  add_random_machine(r, t, p);
  const int num = up_to(r, t.most_elements);
  p.num_dimensions = 1 + up_to(r, 2);
  for (int i = 0; i < num; ++i) {
    balance_element e;
    e.host_seconds = up_to(r, 9) * (up_to(r, 9) == 0 ? 10 : 1);
    e.pe = up_to(r, static_cast<int>(p.pes.size()) - 1);
    e.move_bytes = static_cast<std::uint64_t>(up_to(r, 100));
    e.pinned = t.has_pinned && up_to(r, 4) == 0;
    if (p.pes[static_cast<std::size_t>(e.pe)].gpu != no_gpu && up_to(r, 1) == 0) {
      e.gpu_seconds = up_to(r, 9);
      e.device_bytes = static_cast<std::uint64_t>(up_to(r, 5));
    }
    p.elements.push_back(e);
    p.places.push_back({0.5 * up_to(r, 20), 0.25 * up_to(r, 20), 1.0 * up_to(r, 3)});
  }
  std::vector<balance_traffic> traffic;
  for (int i = 0; num > 1 && i < 2 * num; ++i)
    traffic.push_back({up_to(r, num - 1), up_to(r, num - 1), 1.0 * up_to(r, 50)});
  p.communication = communication_graph::of(p.elements.size(), traffic);
  return p;
}

/// The shortest time over all placements in which pinned elements stay, needs of GPUs are met and memory suffices; -1:
/// there is none.
inline double shortest_time(const balance_problem& p) {
  std::vector<int> placement(p.elements.size(), 0);
  double shortest = -1;
  while (true) {
    bool may = true;
    for (std::size_t i = 0; i < placement.size(); ++i) {
      const balance_element& e = p.elements[i];
      if (e.pinned && placement[i] != e.pe) may = false;
      if (e.needs_gpu() && p.pes[static_cast<std::size_t>(placement[i])].gpu == no_gpu) may = false;
    }
    if (may && memory_excesses(p, placement).empty()) {
      const double time = predicted_time(p, placement);
      if (shortest < 0 || time < shortest) shortest = time;
    }
    std::size_t i = 0;
    while (i < placement.size() && ++placement[i] == static_cast<int>(p.pes.size())) placement[i++] = 0;
    if (i == placement.size()) return shortest;
  }
}

}  // namespace small_problems
