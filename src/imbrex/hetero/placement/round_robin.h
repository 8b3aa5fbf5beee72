#pragma once

#include "imbrex/hetero/placement/placement.h"
#include "imbrex/hetero/placement/ready_groups.h"

namespace imbrex {

/// In order of submission, device after device; what no device can run, on the host. A task whose devices are all full
/// holds up those that may run on the same ones only.
class round_robin final : public placement_policy {
 public:
  void push(task_node& t) override { ready_.push(t); }
  choice pop(const placement_view& view) override {
    return ready_.look_in_order([&](ready_list& tasks) { return first_of(tasks, view); });
  }

 private:
  choice first_of(ready_list& tasks, const placement_view& view) {
    const task_node& t = *tasks.first();
    const auto& places = view.places();
    place* host = nullptr;
    bool could_elsewhere = false;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t n = (turn_ + i) % places.size();
      place& p = *places[n];
      if (!view.eligible(t, p)) continue;
      if (p.is_host()) {
        host = &p;
        continue;
      }
      could_elsewhere = true;
      if (!view.has_room(p)) continue;
      turn_ = n + 1;
      return {tasks.take_after(nullptr), &p};
    }
    if (host == nullptr || could_elsewhere || !view.has_room(*host)) return {};
    return {tasks.take_after(nullptr), host};
  }

  ready_groups ready_;
  std::size_t turn_ = 1;
};

}  // namespace imbrex
