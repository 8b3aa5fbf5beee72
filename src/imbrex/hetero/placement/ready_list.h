#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "imbrex/hetero/task_node.h"

namespace imbrex {

/// Tasks by priority, first come first among equals. Intrusive. A step takes as long as there are different
/// priorities in it, however many tasks there are.
class ready_list {
 public:
  bool empty() const { return first_ == nullptr; }
  task_node* first() const { return first_; }

  void push(task_node& t) {
    t.next = nullptr;
    if (first_ == nullptr) {
      first_ = &t;
      lowest_ = {t.wishes.priority, &t};
    } else if (lowest_.priority == t.wishes.priority) [[likely]] {
      lowest_.last->next = &t;
      lowest_.last = &t;
    } else {
      insert(t);
    }
  }
  task_node* take_first() {
    task_node* const t = first_;
    first_ = t->next;
    if (!above_.empty() && first_->wishes.priority != t->wishes.priority) [[unlikely]]
      above_.erase(above_.begin());
    return t;
  }
  /// `before`: the one in front of it, null for the first.
  task_node* take_after(task_node* before) {
    task_node*& at = before != nullptr ? before->next : first_;
    task_node* const t = at;
    at = t->next;
    if (t->next == nullptr || t->next->wishes.priority != t->wishes.priority) end_level(*t, before);
    return t;
  }

 private:
  /// The last task of one priority.
  struct level {
    int priority = 0;
    task_node* last = nullptr;
  };
  [[gnu::noinline]] void insert(task_node& t) {
    const int priority = t.wishes.priority;
    if (priority < lowest_.priority) {
      above_.push_back(lowest_);
      lowest_.last->next = &t;
      lowest_ = {priority, &t};
      return;
    }
    auto behind = above_.end();  // the first of those that are more urgent or equal, from behind
    while (behind != above_.begin() && std::prev(behind)->priority < priority) --behind;
    task_node* const before = behind == above_.begin() ? nullptr : std::prev(behind)->last;
    task_node*& link = before != nullptr ? before->next : first_;
    t.next = link;
    link = &t;
    if (before != nullptr && before->wishes.priority == priority) {
      std::prev(behind)->last = &t;
    } else {
      above_.insert(behind, {priority, &t});
    }
  }
  /// `t`, which was the last of its priority, is gone.
  [[gnu::noinline]] void end_level(const task_node& t, task_node* before) {
    const bool is_lowest = lowest_.last == &t;
    const auto l = is_lowest ? above_.end()
                             : std::find_if(above_.begin(), above_.end(), [&](const level& x) { return x.last == &t; });
    if (before != nullptr && before->wishes.priority == t.wishes.priority) {
      (is_lowest ? lowest_ : *l).last = before;
    } else if (!is_lowest) {
      above_.erase(l);
    } else if (!above_.empty()) {
      lowest_ = above_.back();
      above_.pop_back();
    }
  }

  task_node* first_ = nullptr;
  level lowest_;              // of the least urgent; means nothing while there is no task
  std::vector<level> above_;  // of the others, most urgent first
};

}  // namespace imbrex
