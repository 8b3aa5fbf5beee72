#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "imbrex/base/clock.h"
#include "imbrex/hetero/task_node.h"

namespace imbrex {

/// Tasks of one PE that could run on the host this moment: the most urgent first, of equals the oldest. Any PE of the
/// process may take one, or some parts of one.
class host_tasks {
 public:
  /// What has been taken; all of a task is 0 to 0.
  struct taken {
    task_node* task = nullptr;
    std::size_t first_part = 0;
    std::size_t last_part = 0;
  };
  /// Those who take parts; each takes so much that all have some left to take.
  explicit host_tasks(std::size_t num_pes = 1) : num_pes_(num_pes) {}
  void share_between(std::size_t num_pes) { num_pes_ = num_pes; }

  /// Any thread; may be old news.
  int size() const { return size_.load(std::memory_order_relaxed); }

  /// The PE whose they are.
  void push(task_node& t) {
    t.next = nullptr;
    if (task_parts* const p = t.parts(); p != nullptr) p->shared = false;
    const holder hold(*this);
    level& l = level_of(t.wishes.priority);
    (l.first != nullptr ? l.last->next : l.first) = &t;
    l.last = &t;
    size_.store(size() + weight(t), std::memory_order_relaxed);
  }
  /// Whoever has taken all of a task in parts has run those before `first_left`: the rest is for all, before other
  /// tasks. How many PEs may take some.
  std::size_t share(task_node& t, std::size_t first_left) {
    task_parts& p = *t.parts();
    p.left.store(p.total - first_left, std::memory_order_relaxed);
    const holder hold(*this);
    p.next = first_left;
    p.shared = true;
    t.next = shared_;
    shared_ = &t;
    size_.store(size() + weight(t), std::memory_order_relaxed);
    return num_pes_;
  }
  /// Any PE; no task when there is none.
  taken take() {
    if (size() == 0) return {};
    const holder hold(*this);
    if (shared_ != nullptr) return take_parts(*shared_);
    task_node* const t = top_.first;
    if (t == nullptr) return {};
    top_.first = t->next;
    if (top_.first == nullptr && !below_.empty()) {
      top_ = below_.back();
      below_.pop_back();
    }
    size_.store(size() - weight(*t), std::memory_order_relaxed);
    return {t};
  }

 private:
  /// A task in parts that is shared is enough for all.
  int weight(task_node& t) const {
    const task_parts* const p = t.parts();
    return p == nullptr || !p->shared ? 1 : static_cast<int>(num_pes_);
  }
  taken take_parts(task_node& t) {
    task_parts& p = *t.parts();
    const std::size_t from = p.next;
    p.next += std::max<std::size_t>((p.total - from) / (2 * num_pes_), 1);
    if (p.next == p.total) {
      shared_ = t.next;
      size_.store(size() - weight(t), std::memory_order_relaxed);
    }
    return {&t, from, p.next};
  }

  /// Tasks of one priority.
  struct level {
    int priority = 0;
    task_node* first = nullptr;
    task_node* last = nullptr;
  };
  level& level_of(int priority) {
    if (top_.first == nullptr) top_.priority = priority;
    if (top_.priority == priority) [[likely]]
      return top_;
    if (priority > top_.priority) {
      below_.push_back(std::exchange(top_, {priority, nullptr, nullptr}));
      return top_;
    }
    const auto less = [](const level& l, int p) { return l.priority < p; };
    const auto at = std::lower_bound(below_.begin(), below_.end(), priority, less);
    return at != below_.end() && at->priority == priority ? *at : *below_.insert(at, {priority, nullptr, nullptr});
  }

  struct holder {
    explicit holder(host_tasks& q) : of(q) {
      while (of.held_.exchange(true, std::memory_order_acquire)) {
        while (of.held_.load(std::memory_order_relaxed)) cpu_relax();
      }
    }
    ~holder() { of.held_.store(false, std::memory_order_release); }
    host_tasks& of;
  };

  // Others look at these: not in a line with what the PE itself works on. No alignas: domains may lie in frames of
  // coroutines, which compilers do not align.
  [[maybe_unused]] std::byte apart_[64];
  std::atomic<bool> held_{false};
  std::atomic<int> size_{0};
  task_node* shared_ = nullptr;
  level top_;  // the most urgent; without tasks where there are none
  std::size_t num_pes_;
  std::vector<level> below_;  // the most urgent last, none without tasks
};

}  // namespace imbrex
