#pragma once

#include <coroutine>
#include <string>

#include "imbrex/async/activity.h"
#include "imbrex/hetero/task_node.h"
#include "imbrex/hetero/visits/far_wait.h"

namespace imbrex {

/// A coroutine that waits for a task, or for what it gives, on the task's PE or another one.
class task_wait : public waiter {
 protected:
  task_wait() = default;
  ~task_wait() { leave(); }

  /// `h` goes on when `is_there`. `what` describes that for reports, on the task's own PE.
  void wait_for(task_node& t, std::coroutine_handle<> h, bool (*is_there)(const task_node&),
                std::string (*what)(const waiter*));
  /// When it goes on.
  void resumed() { handle = nullptr; }
  /// It waits no longer: before the task may be gone.
  void leave();

 private:
  static std::string describe_far(const waiter* w);

  task_node* of_ = nullptr;
  bool is_far_ = false;
  far_link far_;
};

/// Throws the failure of a task that has failed, which somebody sees now. Any PE.
[[noreturn]] void throw_failure(task_node& t);

}  // namespace imbrex
