#pragma once

#include <optional>

#include "forces/embedded_atom.h"
#include "forces/lennard_jones.h"
#include "problem.h"
#include "system/decomposition.h"
#include "system/neighbour_lists.h"
#include "system/units.h"

namespace md {

/// What all boxes of a run share; the same on all ranks, and never changed while they run.
struct model {
  /// `atoms`, `lengths`: of the whole system. `eam`: null for Lennard-Jones.
  model(const problem& p, std::int64_t atoms, const vector3& lengths, const box_index& boxes, const list_rule& rule,
        exchange_style exchange, instruction_set isa, const funcfl* eam);

  bool sends_forces_back() const { return lists.style == list_style::half && lists.ghost_newton; }

  problem what;
  decomposition boxes;
  units scale;
  list_rule lists;
  exchange_style exchange;
  instruction_set isa;
  lennard_jones pairs;
  lennard_jones_function pair_forces;
  std::optional<embedded_atom> embedded;
  embedded_functions metal_forces;
  double mass;
  double densest;  ///< atoms per volume where they are densest; the mean unless somebody says more
};

}  // namespace md
