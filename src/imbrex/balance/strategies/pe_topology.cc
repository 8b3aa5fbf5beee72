#include "imbrex/balance/strategies/pe_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "imbrex/base/error.h"

namespace imbrex {

pe_topology hypercube_of(int num_pes) {
  pe_topology t{num_pes, {}};
  for (int digit = 1; digit < num_pes; digit *= 2) {
    std::vector<pe_topology::pair> round;
    for (int pe = 0; pe < num_pes; ++pe) {
      if ((pe & digit) == 0 && pe + digit < num_pes) round.emplace_back(pe, pe + digit);
    }
    t.rounds.push_back(std::move(round));
  }
  return t;
}

pe_topology grid_of(int nx, int ny, int nz) {
  if (nx < 1 || ny < 1 || nz < 1)
    throw usage_error(fmt::format("a grid of {} x {} x {} PEs has no PEs: give extents of at least 1", nx, ny, nz));
  pe_topology t{nx * ny * nz, {}};
  const std::array<int, 3> extents{nx, ny, nz};
  std::array<int, 3> strides{1, nx, nx * ny};
  for (std::size_t d = 0; d < 3; ++d) {
    for (int parity = 0; parity < 2; ++parity) {
      std::vector<pe_topology::pair> round;
      for (int pe = 0; pe < t.num_pes; ++pe) {
        const int x = pe / strides[d] % extents[d];
        if (x % 2 == parity && x + 1 < extents[d]) round.emplace_back(pe, pe + strides[d]);
      }
      if (!round.empty()) t.rounds.push_back(std::move(round));
    }
  }
  return t;
}

pe_topology topology_of(int num_pes, const std::vector<pe_topology::pair>& neighbours) {
  pe_topology t{num_pes, {}};
  std::vector<std::vector<bool>> is_busy;
  std::set<pe_topology::pair> seen;
  for (auto [a, b] : neighbours) {
    if (a < 0 || b < 0 || a >= num_pes || b >= num_pes || a == b)
      throw usage_error(fmt::format("PEs {} and {} of {} cannot be neighbours: name two of them", a, b, num_pes));
    if (!seen.insert(std::minmax(a, b)).second) continue;
    const auto at = [](int pe) { return static_cast<std::size_t>(pe); };
    std::size_t round = 0;
    while (round < t.rounds.size() && (is_busy[round][at(a)] || is_busy[round][at(b)])) ++round;
    if (round == t.rounds.size()) {
      t.rounds.emplace_back();
      is_busy.emplace_back(at(num_pes));
    }
    t.rounds[round].emplace_back(std::min(a, b), std::max(a, b));
    is_busy[round][at(a)] = is_busy[round][at(b)] = true;
  }
  return t;
}

}  // namespace imbrex
