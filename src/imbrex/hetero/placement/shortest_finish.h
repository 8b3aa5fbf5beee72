#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "imbrex/hetero/placement/cost_store.h"
#include "imbrex/hetero/placement/known_costs.h"
#include "imbrex/hetero/placement/placement.h"
#include "imbrex/hetero/placement/ready_groups.h"

namespace imbrex {

/// Each task goes where it is expected to be over first: after what the place has to do, the time to bring what is
/// missing over a link as fast as copies were of late, and what such tasks took there, or is to be expected from what
/// others of other sizes took. Of what has never run at a place one is tried there, on devices before the host; the
/// others rather go elsewhere until that has ended, but not to the host while a device is tried.
///
/// A device is given as much as it does in some milliseconds, so that what becomes urgent need not wait for longer; and
/// of tasks whose data have to come from the host, as many as its link brings in some milliseconds: meanwhile it
/// computes what needs nothing from there, though that was submitted later.
class shortest_finish final : public placement_policy {
 public:
  /// Begins with nothing, and forgets all in the end.
  shortest_finish() = default;
  /// Begins with what is known there, and gives what it has learnt in the end. The store outlives this.
  explicit shortest_finish(cost_store& with) : store_(&with), costs_(with.known()) {}
  /// With a store of its own, written in the end; where that fails, the next run learns anew. Throws `config_error`.
  explicit shortest_finish(std::string file);
  ~shortest_finish() override;
  void push(task_node& t) override {
    ready_.push(t);
    links_may_be_of_use_ = true;
  }
  choice pop(const placement_view& view) override;
  double expected_ns(const task_node& t, const place& p) override { return known_.estimate(t, p); }
  bool learns() const override { return true; }
  void finished(const task_node& t, std::int64_t nanoseconds) override;
  cost_model& costs() { return costs_; }

 private:
  struct prospect;
  prospect best_place(const placement_view& view, const task_node& t);
  bool has_enough(const place& p) const;
  bool has_use(const placement_view& view, const task_node& first, bool of_links) const;
  double backlog_ns(const place& p) const;
  choice pop_from(ready_groups& tasks, const placement_view& view);
  void given(const choice& c);

  std::unique_ptr<cost_store> own_store_;
  cost_store* store_ = nullptr;
  ready_groups ready_;
  bool links_may_be_of_use_ = false;  // for some of these; not for those that have been looked at
  ready_groups for_links_;  // when they were looked at, their data were on the host only, and all links were busy
  cost_model costs_;
  known_costs known_{costs_};
  std::vector<double> backlog_ns_;  // by place: of tasks that were given out and have not finished
  std::unordered_map<const task_node*, double> expected_ns_;
};

}  // namespace imbrex
