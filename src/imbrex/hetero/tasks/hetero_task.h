#pragma once

#include <coroutine>
#include <string>
#include <utility>

#include "imbrex/hetero/task_node.h"
#include "imbrex/hetero/tasks/task_journal.h"
#include "imbrex/hetero/tasks/task_wait.h"

namespace imbrex {

/// A task that was submitted (Thomadakis and Chrisochoides 2024, 3.1.2). Copying the handle makes another handle; the
/// task runs whether there is one or not. For the PE that has submitted it. One that was submitted to another PE
/// (`process_domain`) can be awaited, and named in `after`; the rest throws `usage_error`.
class hetero_task {
 public:
  hetero_task() = default;
  explicit hetero_task(task_node* t) : node_(t) {
    if (node_ != nullptr) hold(*node_);
  }
  hetero_task(const hetero_task& other) : hetero_task(other.node_) {}
  hetero_task(hetero_task&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  hetero_task& operator=(hetero_task other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~hetero_task() {
    if (node_ != nullptr) give_up(*node_);
  }

  /// How far it is. One without a task counts as done.
  task_state state() const { return node_ == nullptr ? task_state::done : near().state; }
  bool done() const { return node_ == nullptr || near().over(); }
  /// It need not run: if it has not begun, or been enqueued on a device, it never will, and fails with
  /// `cancelled_error`, as all do that read what it should have written; nobody has to be told of these failures.
  /// False: it is too late, or a view.
  bool cancel() const;
  /// Where it ran or will run, as reports say it; empty before it has been placed.
  std::string where() const;

  /// `co_await t`: until it is over; throws what it or a task it depended on threw, naming task and device.
  class [[nodiscard]] awaiter : task_wait {
   public:
    explicit awaiter(task_node* t) : node_(t) {
      if (node_ != nullptr) hold(*node_);
    }
    awaiter(const awaiter&) = delete;
    ~awaiter();
    bool await_ready() const { return node_ == nullptr || (task_journal::is_near(node_->domain) && node_->over()); }
    void await_suspend(std::coroutine_handle<> h);
    void await_resume();

   private:
    task_node* node_;
  };
  awaiter operator co_await() const { return awaiter(node_); }

  task_node* node() const { return node_; }
  /// \name One reference more, or less
  ///@{
  static void hold(task_node& t) {
    if (task_journal* const j = task_journal::current(); j != nullptr) [[unlikely]]
      return j->hold(t);
    ++t.references;
  }
  [[gnu::always_inline]] static void give_up(task_node& t) {
    if (task_journal* const j = task_journal::current(); j != nullptr) [[unlikely]]
      return j->give_up(t);
    t.release();
  }
  ///@}

 private:
  /// Throws `usage_error` for a task that another PE works on.
  const task_node& near() const {
    if (!task_journal::is_near(node_->domain) && task_journal::of_task_away() == nullptr) [[unlikely]]
      refuse_far();
    return *node_;
  }
  [[noreturn]] void refuse_far() const;

  task_node* node_ = nullptr;
};

}  // namespace imbrex
