#pragma once

#include "imbrex/hetero/task_node.h"

namespace imbrex {

/// Tasks by priority, in order of arrival among equals. Intrusive.
class ready_list {
 public:
  bool empty() const { return first_ == nullptr; }
  task_node* first() const { return first_; }

  void push(task_node& t) {
    t.next = nullptr;
    if (last_ == nullptr || last_->wishes.priority >= t.wishes.priority) {
      (last_ != nullptr ? last_->next : first_) = &t;
      last_ = &t;
      return;
    }
    task_node** at = &first_;
    while ((*at)->wishes.priority >= t.wishes.priority) at = &(*at)->next;
    t.next = *at;
    *at = &t;
  }
  /// `before`: the one in front of it, null for the first.
  task_node* take_after(task_node* before) {
    task_node*& at = before != nullptr ? before->next : first_;
    task_node* const t = at;
    at = t->next;
    if (last_ == t) last_ = before;
    return t;
  }

 private:
  task_node* first_ = nullptr;
  task_node* last_ = nullptr;
};

}  // namespace imbrex
