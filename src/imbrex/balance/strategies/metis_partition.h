#pragma once

#include "imbrex/balance/strategies/partition.h"

namespace imbrex {

/// `graph`: METIS cuts the communication graph so that few bytes cross (Karypis and Kumar 1998); then what it left uneven
/// is refined. As long as none else, and the fewest bytes.
class graph_strategy final : public partition_strategy {
 protected:
  std::vector<int> cut(const cut_task& t) const override;
  void check_input(const balance_problem& problem) const override;
  bool numbers_at_will() const override { return true; }
};

}  // namespace imbrex
