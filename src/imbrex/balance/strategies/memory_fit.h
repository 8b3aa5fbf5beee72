#pragma once

#include <vector>

#include "imbrex/balance/balance_plan.h"

/// Memory limits of GPUs, which every strategy keeps.
namespace imbrex::detail {

/// Moves elements from GPUs that hold too much to others, as few as it can, until all fits. False where it found no
/// way: the placement is as it was then. Finds every way there is for up to `most_searched` elements that use device
/// memory and can move; for more it tries the largest first, which is not always enough where nearly nothing is left.
bool fit_memory(const balance_problem& p, std::vector<int>& placement);
inline constexpr std::size_t most_searched = 24;

/// Where the elements are, or, where GPUs hold too much now, where they fit. Throws `out_of_memory` that names what
/// does not fit.
std::vector<int> fitting_placement(const balance_problem& p);

enum class worth_moving { for_time, for_time_or_bytes };
/// What a strategy returns for the placement that it has found: the plan that leads there if it is better than staying,
/// else none. Better is a shorter predicted time, and for some also the same time and fewer bytes between PEs. Memory
/// is seen to.
balance_plan better_plan(const balance_problem& p, std::vector<int> placement,
                         worth_moving when = worth_moving::for_time);

}  // namespace imbrex::detail
