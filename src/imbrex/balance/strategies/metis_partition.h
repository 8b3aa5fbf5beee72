#pragma once

#include "imbrex/balance/strategies/partition.h"

namespace imbrex {

/// `graph`: METIS cuts the communication graph, first for nodes, then for the PEs of each, so that few bytes cross
/// (Karypis and Kumar 1998); what it left uneven is refined. Takes longest by far.
class graph_strategy final : public partition_strategy {
 protected:
  std::vector<int> cut(const cut_task& t) const override;
  void check_input(const balance_problem& problem) const override;
  bool is_rough() const override { return true; }
};

}  // namespace imbrex
