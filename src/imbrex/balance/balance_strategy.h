#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/balance/balance_plan.h"

namespace imbrex {

/// Decides who moves where. One of imbrex's own never makes the predicted time of a step longer (it gives an empty plan
/// instead), moves no pinned element, gives the same plan for the same problem on any machine, and keeps the memory
/// limits of GPUs: where they are exceeded now it finds another placement, even a slower one. It throws `usage_error`
/// for a problem that is none (`check_problem`) and `out_of_memory` where the elements fit nowhere. Any thread.
class balance_strategy {
 public:
  virtual ~balance_strategy() = default;
  virtual balance_plan plan(const balance_problem& problem) const = 0;
  /// Whether it makes use of who exchanges how much with whom: else a job does not count that.
  virtual bool uses_communication() const { return true; }
  /// Whether it goes by places in space: then, in a job, elements that have none stay where they are.
  virtual bool uses_places() const { return false; }
};

using strategy_factory = std::function<std::unique_ptr<balance_strategy>()>;

/// From now on strategies of this name can be asked for. Throws `usage_error` when there is one of that name, or the
/// name is empty. Any thread.
void register_strategy(const std::string& name, strategy_factory make, const std::string& description = "");

/// Throws `usage_error` that lists the known ones, and `not_built` for one that this build does not have.
std::unique_ptr<balance_strategy> make_strategy(const std::string& name);

/// What `--imbrex-help` and `imbrex balance-replay` say of a strategy.
struct strategy_facts {
  std::string name;
  std::string description;  ///< one line
  bool is_built = true;
};
/// imbrex's own first, in the order in which they are explained; then those registered, in that order.
std::vector<strategy_facts> known_strategies();

}  // namespace imbrex
