#pragma once

#include <string>

namespace imbrex {

/// Whether and how the loads of a job are balanced while it runs.
struct balance_options {
  std::string strategy;            ///< by name (balance_strategy.h); empty: loads are neither measured nor balanced
  int interval_ms = 500;           ///< looked at that often; 0: only where the program says so (`balance`)
  std::string rates = "measured";  ///< how fast PEs are (`pe_rates`)
  std::string record;              ///< file for what was measured, for `imbrex balance-replay`; empty: none
};

}  // namespace imbrex
