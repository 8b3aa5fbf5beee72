#pragma once

#include <utility>
#include <vector>

namespace imbrex {

/// Which PEs are neighbours, for strategies without a centre: in rounds of pairs in which each PE is at most once, so
/// that all pairs of a round can act at the same time.
struct pe_topology {
  using pair = std::pair<int, int>;
  int num_pes = 0;
  std::vector<std::vector<pair>> rounds;
};

/// PEs whose numbers differ in one binary digit, a round for each digit from the lowest: after as many rounds as there
/// are digits all have heard of all. Any number of PEs.
pe_topology hypercube_of(int num_pes);

/// PEs side by side in a grid, x fastest, without a way round from one end to the other. Loads spread slowly but stay
/// near. Throws `usage_error` for an extent below 1.
pe_topology grid_of(int nx, int ny = 1, int nz = 1);

/// These neighbours, put into rounds in their order. Throws `usage_error` for a PE that there is not, and for a PE
/// beside itself.
pe_topology topology_of(int num_pes, const std::vector<pe_topology::pair>& neighbours);

}  // namespace imbrex
