#pragma once

#include <coroutine>
#include <string>
#include <utility>

#include "imbrex/hetero/task_node.h"
#include "imbrex/hetero/tasks/task_journal.h"

namespace imbrex {

/// A task that was submitted (Thomadakis and Chrisochoides 2024, 3.1.2). Copying the handle makes another handle; the
/// task runs whether there is one or not. For the PE of its domain.
class hetero_task {
 public:
  hetero_task() = default;
  explicit hetero_task(task_node* t) : node_(t) {
    if (node_ != nullptr) hold();
  }
  hetero_task(const hetero_task& other) : hetero_task(other.node_) {}
  hetero_task(hetero_task&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  hetero_task& operator=(hetero_task other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~hetero_task() {
    if (node_ != nullptr) give_up();
  }

  /// How far it is. One without a task counts as done.
  task_state state() const { return node_ == nullptr ? task_state::done : node_->state; }
  bool done() const { return node_ == nullptr || node_->over(); }
  /// It need not run: if it has not begun, or been enqueued on a device, it never will, and fails with
  /// `cancelled_error`, as all do that read what it should have written; nobody has to be told of these failures.
  /// False: it is too late, or a view.
  bool cancel() const;
  /// Where it ran or will run, as reports say it; empty before it has been placed.
  std::string where() const;

  /// `co_await t`: until it is over; throws what it or a task it depended on threw, naming task and device.
  class [[nodiscard]] awaiter : waiter {
   public:
    explicit awaiter(task_node* t) : node_(t) {
      if (node_ != nullptr) ++node_->references;
    }
    awaiter(const awaiter&) = delete;
    ~awaiter();
    bool await_ready() const { return node_ == nullptr || node_->over(); }
    void await_suspend(std::coroutine_handle<> h);
    void await_resume();

   private:
    task_node* node_;
  };
  awaiter operator co_await() const { return awaiter(node_); }

  task_node* node() const { return node_; }

 private:
  void hold() {
    if (task_journal* const j = task_journal::current(); j != nullptr) [[unlikely]]
      return j->hold(*node_);
    ++node_->references;
  }
  [[gnu::always_inline]] void give_up() {
    if (task_journal* const j = task_journal::current(); j != nullptr) [[unlikely]]
      return j->give_up(*node_);
    node_->release();
  }
  task_node* node_ = nullptr;
};

}  // namespace imbrex
