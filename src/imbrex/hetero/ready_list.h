#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "imbrex/hetero/task_node.h"

namespace imbrex {

/// Tasks by priority, in order of arrival among equals. Intrusive. A step takes as long as there are different
/// priorities in it, however many tasks there are.
class ready_list {
 public:
  bool empty() const { return first_ == nullptr; }
  task_node* first() const { return first_; }

  void push(task_node& t) {
    if (first_ == nullptr) {
      t.next = nullptr;
      first_ = &t;
      levels_.push_back({t.wishes.priority, &t});
    } else if (levels_.back().priority == t.wishes.priority) [[likely]] {
      t.next = nullptr;
      levels_.back().last->next = &t;
      levels_.back().last = &t;
    } else {
      insert(t);
    }
  }
  task_node* take_first() {
    task_node* const t = first_;
    first_ = t->next;
    if (first_ == nullptr) {
      levels_.clear();
    } else if (first_->wishes.priority != t->wishes.priority) {
      levels_.erase(levels_.begin());
    }
    return t;
  }
  /// `before`: the one in front of it, null for the first.
  task_node* take_after(task_node* before) {
    task_node*& at = before != nullptr ? before->next : first_;
    task_node* const t = at;
    at = t->next;
    if (first_ == nullptr) {
      levels_.clear();
    } else if (t->next == nullptr || t->next->wishes.priority != t->wishes.priority) {
      end_level(*t, before);
    }
    return t;
  }

 private:
  /// The last task of one priority.
  struct level {
    int priority;
    task_node* last;
  };
  [[gnu::noinline]] void insert(task_node& t) {
    const int priority = t.wishes.priority;
    auto behind = levels_.end();  // the first of those that are more urgent or equal, from behind
    while (behind != levels_.begin() && std::prev(behind)->priority < priority) --behind;
    task_node* const before = behind == levels_.begin() ? nullptr : std::prev(behind)->last;
    task_node*& link = before != nullptr ? before->next : first_;
    t.next = link;
    link = &t;
    if (before != nullptr && before->wishes.priority == priority) {
      std::prev(behind)->last = &t;
    } else {
      levels_.insert(behind, {priority, &t});
    }
  }
  [[gnu::noinline]] void end_level(const task_node& t, task_node* before) {
    const auto l = std::find_if(levels_.begin(), levels_.end(), [&](const level& x) { return x.last == &t; });
    if (before != nullptr && before->wishes.priority == t.wishes.priority) {
      l->last = before;
    } else {
      levels_.erase(l);
    }
  }

  task_node* first_ = nullptr;
  std::vector<level> levels_;  // most urgent first
};

}  // namespace imbrex
