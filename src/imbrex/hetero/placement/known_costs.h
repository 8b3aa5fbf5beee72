#pragma once

#include <cstdint>
#include <vector>

#include "imbrex/hetero/placement/cost_model.h"

namespace imbrex {

/// What a model expects of a domain's tasks, found without making keys of strings: a task's name is known by its
/// address, which lasts. The model outlives this, and forgets nothing meanwhile.
class known_costs {
 public:
  explicit known_costs(const cost_model& model) : model_(&model) {}
  /// As `cost_model::estimate`: nanoseconds; negative where nothing is known.
  double estimate(const task_node& t, const place& p);
  /// Where nothing is known: such a task has been given to that place, to learn from it; and it is over.
  void begin_trial(const task_node& t, const place& p) { ++entry_of(t, p).num_on_trial; }
  void end_trial(const task_node& t, const place& p) { --entry_of(t, p).num_on_trial; }
  int num_on_trial(const task_node& t, const place& p) { return entry_of(t, p).num_on_trial; }

 private:
  struct entry {
    const cost_model::mean* known = nullptr;  // null: it has to be asked for
    int num_on_trial = 0;
  };
  struct kind {
    const char* name;
    int size;
    std::vector<entry> at;  // by place
  };
  kind& kind_of(const task_node& t);
  entry& entry_of(const task_node& t, const place& p);

  const cost_model* model_;
  std::vector<kind> kinds_;  // the one that was asked for last first
};

}  // namespace imbrex
