#pragma once

#include <cstdint>

namespace imbrex {

class scheduler;

/// What balancing has done; of the whole job on PE 0, empty elsewhere.
struct balance_summary {
  std::uint64_t num_rounds = 0;    ///< how often loads were looked at
  std::uint64_t num_plans = 0;     ///< of these, how often moving paid
  std::uint64_t num_moves = 0;     ///< that the plans asked for
  std::uint64_t num_moved = 0;     ///< that had been made at the last look, whoever asked
  double first_efficiency = 1;     ///< mean load of the PEs against the largest, when it was looked at first
  double last_efficiency = 1;      ///< and last
  double sum_of_efficiencies = 0;  ///< at all looks but the first
  double planning_seconds = 0;

  /// Mean of all looks but the first, which found what the program had placed.
  double mean_efficiency() const {
    return num_rounds < 2 ? first_efficiency : sum_of_efficiencies / static_cast<double>(num_rounds - 1);
  }
};

/// Of PE 0, which leads balancing; elsewhere, and without `--imbrex-balance`, it is empty.
balance_summary balance_summary_of(scheduler& pe);

}  // namespace imbrex
