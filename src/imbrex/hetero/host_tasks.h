#pragma once

#include <atomic>

#include "imbrex/base/clock.h"
#include "imbrex/hetero/task_node.h"

namespace imbrex {

/// Tasks of one PE that could run on the host this moment, oldest first. Any PE of the process may take one.
class host_tasks {
 public:
  /// Any thread; may be old news.
  int size() const { return size_.load(std::memory_order_relaxed); }

  /// The PE whose they are.
  void push(task_node& t) {
    t.next = nullptr;
    const holder hold(*this);
    (last_ != nullptr ? last_->next : first_) = &t;
    last_ = &t;
    size_.store(size() + 1, std::memory_order_relaxed);
  }
  /// Any PE; null when there is none.
  task_node* take() {
    if (size() == 0) return nullptr;
    const holder hold(*this);
    task_node* const t = first_;
    if (t == nullptr) return nullptr;
    first_ = t->next;
    if (first_ == nullptr) last_ = nullptr;
    size_.store(size() - 1, std::memory_order_relaxed);
    return t;
  }

 private:
  struct holder {
    explicit holder(host_tasks& q) : of(q) {
      while (of.held_.exchange(true, std::memory_order_acquire)) {
        while (of.held_.load(std::memory_order_relaxed)) cpu_relax();
      }
    }
    ~holder() { of.held_.store(false, std::memory_order_release); }
    host_tasks& of;
  };

  alignas(64) std::atomic<bool> held_{false};
  std::atomic<int> size_{0};
  task_node* first_ = nullptr;
  task_node* last_ = nullptr;
};

}  // namespace imbrex
