#pragma once

#include <cstddef>
#include <vector>

#include "imbrex/balance/balance_problem.h"
#include "imbrex/balance/strategies/load_board.h"

namespace imbrex::detail {

struct refinement {
  double tolerance = 0.02;     ///< of an even load: where to stop
  bool near_partners = false;  ///< to a PE with which the element exchanges most, where there is room
};

/// From `placement`, in which memory fits, one with a shorter predicted time and few moves more; the same where there
/// is none. Elements that are pinned stay.
std::vector<int> refined(const balance_problem& p, std::vector<int> placement, const refinement& how);

/// The shortest time that could be: an even load, or what cannot be moved.
double least_possible_time(const balance_problem& p);

/// Moves elements to PEs with which they exchange more than with their own, as long as no PE or GPU exceeds `level`.
/// Bytes between ranks count twice, between nodes four times.
void draw_together(const balance_problem& p, std::vector<int>& placement, double level);

}  // namespace imbrex::detail
