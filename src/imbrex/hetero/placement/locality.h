#pragma once

#include <cstdint>
#include <vector>

#include "imbrex/hetero/placement/placement.h"
#include "imbrex/hetero/placement/ready_groups.h"

namespace imbrex {

/// Tasks go where their data are; on a device if they can run on one. Each waits in the line of the place that was
/// nearest to its data when it became ready, so that tasks of a full place cost nothing until it has room: a step takes
/// as long as there are places, not as there are tasks. Only where data would have to go to make room is a line
/// searched, for a task whose data are there.
class locality final : public placement_policy {
 public:
  void push(task_node& t) override { come_.push(t); }
  choice pop(const placement_view& view) override;

 private:
  struct nearness {
    place* where = nullptr;  // null: it has to wait
    std::uint64_t missing = UINT64_MAX;
    place* best = nullptr;     // if all had room
    bool is_only_best = true;  // no other is as near
  };
  /// A task that could be next, and where it stands.
  struct candidate {
    ready_list* list = nullptr;
    task_node* before = nullptr;
    task_node* task = nullptr;
    place* at = nullptr;
    std::uint64_t missing = UINT64_MAX;
    bool is_good = false;  // nothing has to go for it
  };
  static nearness nearest(const placement_view& view, const task_node& t);
  static nearness idle_instead(const placement_view& view, const task_node& t);

  choice pop_at_once(const placement_view& view);
  choice pop_of_several(const placement_view& view);
  void stand_in_line(const placement_view& view, task_node& t);
  ready_list& line_of(const nearness& n, const task_node& t);
  candidate look_in(ready_list& line, const place* of, const placement_view& view);
  choice take(const candidate& c);

  struct stop {
    ready_list* tasks;
    const place* at;  // null: of no place
  };
  std::vector<stop> order_;        // while it looks
  ready_list come_;                // not yet in a line
  std::vector<ready_list> lines_;  // by place
  ready_groups others_;            // as near to several: to whichever has least to do
  std::size_t num_in_line_ = 0;    // in `lines_` and `others_`
  int num_overtaken_ = 0;
};

}  // namespace imbrex
