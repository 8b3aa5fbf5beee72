#pragma once

#include <string>
#include <vector>

#include "imbrex/balance/balance_plan.h"
#include "imbrex/balance/balance_problem.h"
#include "imbrex/balance/balance_strategy.h"
#include "imbrex/balance/live/element_loads.h"

namespace imbrex {

/// The PEs of a job, as far as balancing is concerned.
struct pe_shape {
  int num_pes = 1;
  int pes_per_rank = 1;
  int ranks_per_node = 1;
};

/// What was measured in an interval as a problem: a step is that. Elements are in the order of the loads. Their places
/// are in it where all have one, or, if the strategy `uses_places`, some: those without are pinned then.
balance_problem problem_of(const element_loads& loads, const pe_shape& shape, bool uses_places = false);

/// A plan for it. Where an element that has something to do cannot go to another process, each process is balanced by
/// itself: the plan of each, put together. Throws what the strategy throws, and `usage_error` for a plan that cannot be
/// carried out.
balance_plan plan_live(const balance_strategy& strategy, const balance_problem& problem, const element_loads& loads,
                       const pe_shape& shape);

/// Whether any element that has something to do may go to another PE.
bool any_may_move(const balance_problem& problem, const element_loads& loads, const pe_shape& shape);

/// What a plan is predicted to save in a step, against what carrying it out costs: the plan itself, on one PE, and the
/// moves, of which each PE makes its share.
struct balance_gain {
  double seconds_saved = 0;
  double seconds_spent = 0;
  bool pays() const { return seconds_saved > seconds_spent; }
};
balance_gain gain_of(const balance_plan& plan, double time_before, double time_after, double planning_seconds,
                     double seconds_per_move, int num_pes);

}  // namespace imbrex
