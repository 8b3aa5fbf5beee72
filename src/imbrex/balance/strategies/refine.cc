#include <algorithm>
#include <utility>
#include <vector>

#include "imbrex/balance/strategies/memory_fit.h"
#include "imbrex/balance/strategies/refiner.h"
#include "imbrex/balance/strategies/strategies.h"

namespace imbrex {

balance_plan refine_strategy::plan(const balance_problem& problem) const {
  check_problem(problem);
  return detail::better_plan(problem,
                             detail::refined(problem, detail::fitting_placement(problem), {tolerance_, false}));
}

balance_plan comm_refine_strategy::plan(const balance_problem& problem) const {
  check_problem(problem);
  std::vector<int> placement = detail::fitting_placement(problem);
  placement = detail::refined(problem, std::move(placement), {tolerance_, true});
  const double level =
      std::max(predicted_time(problem, placement), detail::least_possible_time(problem) * (1 + tolerance_));
  // Not at the price of a step that takes longer than it does now.
  const double now = predicted_time(problem, placement_after(problem, {}));
  detail::draw_together(problem, placement, std::min(level, std::max(now, predicted_time(problem, placement))));
  return detail::better_plan(problem, std::move(placement), detail::worth_moving::for_time_or_bytes);
}

}  // namespace imbrex
