#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "imbrex/hetero/placement/placement.h"
#include "imbrex/hetero/placement/ready_list.h"

namespace imbrex {

/// Tasks that could run, in groups of those that may run on the same places: where one of a group has to wait for a
/// place with room, those of other groups need not. A job has few groups.
class ready_groups {
 public:
  void push(task_node& t) {
    const key k = key_of(t);
    group* of = nullptr;
    for (group& g : all_) {
      if (g.of == k) of = &g;
    }
    if (of == nullptr) of = &all_.emplace_back(group{k, {}});
    of->tasks.push(t);
  }

  static bool goes_before(const task_node& a, const task_node& b) {
    return a.wishes.priority != b.wishes.priority ? a.wishes.priority > b.wishes.priority : a.age < b.age;
  }
  /// Whether its most urgent task goes before all of the other's.
  bool has_before(const ready_groups& other) const {
    const task_node *const a = first(), *const b = other.first();
    return a != nullptr && (b == nullptr || goes_before(*a, *b));
  }
  /// The most urgent, the oldest of equals; null when there is none.
  const task_node* first() const {
    const task_node* best = nullptr;
    for (const group& g : all_) {
      const task_node* const t = g.tasks.first();
      if (t != nullptr && (best == nullptr || goes_before(*t, *best))) best = t;
    }
    return best;
  }
  /// The lists that are not empty.
  template <class F>
  void for_each(F f) {
    for (group& g : all_) {
      if (!g.tasks.empty()) f(g.tasks);
    }
  }
  /// Calls `look(list)` for one group after the other, the one with the most urgent task first, the oldest of equals,
  /// until it gives a choice.
  template <class Look>
  placement_policy::choice look_in_order(Look look) {
    if (all_.empty()) return {};
    if (all_.size() == 1) return all_[0].tasks.empty() ? placement_policy::choice{} : look(all_[0].tasks);
    const task_node* before = nullptr;
    while (group* const g = next_after(before)) {
      before = g->tasks.first();
      if (const placement_policy::choice c = look(g->tasks); c.task != nullptr) return c;
    }
    return {};
  }

 private:
  using key = std::tuple<std::uint8_t, bool, device_kind, int>;
  struct group {
    key of;
    ready_list tasks;
  };
  static key key_of(const task_node& t) {
    return {t.runs_on, t.wishes.any, t.wishes.any ? device_kind::host : t.wishes.kind, t.wishes.number};
  }
  group* next_after(const task_node* before) {
    group* best = nullptr;
    for (group& g : all_) {
      const task_node* const t = g.tasks.first();
      if (t == nullptr || (before != nullptr && !goes_before(*before, *t))) continue;
      if (best == nullptr || goes_before(*t, *best->tasks.first())) best = &g;
    }
    return best;
  }

  std::vector<group> all_;
};

}  // namespace imbrex
