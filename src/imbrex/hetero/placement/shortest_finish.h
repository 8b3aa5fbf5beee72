#pragma once

#include <map>
#include <memory>
#include <string>

#include "imbrex/hetero/placement/cost_store.h"
#include "imbrex/hetero/placement/placement.h"
#include "imbrex/hetero/placement/ready_groups.h"

namespace imbrex {

/// Each task goes where it is expected to be over first: after what the place has to do, the time to bring what is
/// missing, and what such tasks took there, or is to be expected from what others of other sizes took. What has never
/// run at a place is tried there. A device is given as much as
/// it does in some milliseconds, so that what becomes urgent need not wait for longer.
class shortest_finish final : public placement_policy {
 public:
  /// Begins with nothing, and forgets all in the end.
  shortest_finish() = default;
  /// Begins with what is known there, and gives what it has learnt in the end. The store outlives this.
  explicit shortest_finish(cost_store& with) : store_(&with), costs_(with.known()) {}
  /// With a store of its own, written in the end; where that fails, the next run learns anew. Throws `config_error`.
  explicit shortest_finish(std::string file);
  ~shortest_finish() override;
  void push(task_node& t) override { ready_.push(t); }
  choice pop(const placement_view& view) override;
  bool learns() const override { return true; }
  void finished(const task_node& t, std::int64_t nanoseconds) override;
  cost_model& costs() { return costs_; }

 private:
  place* best_place(const placement_view& view, const task_node& t) const;
  bool has_enough(const place& p) const;
  double expected(const placement_view& view, const task_node& t, const place& p) const;

  std::unique_ptr<cost_store> own_store_;
  cost_store* store_ = nullptr;
  ready_groups ready_;
  cost_model costs_;
  std::map<const place*, double> backlog_ns_;  // of tasks that were given out and have not finished
  std::map<const task_node*, double> expected_ns_;
};

}  // namespace imbrex
