#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/hetero/tasks/hetero_task.h"

namespace imbrex {

/// A task whose function returns something, on the host: `R r = co_await t` gives it once the task is over, or throws
/// what it threw. As an argument of a later task it stands for the value, and that task waits for it. Otherwise it is a
/// `hetero_task`. The value lives as long as a handle does. For the PE of its domain.
template <class R>
class [[nodiscard]] task_result : public hetero_task {
  static_assert(std::is_copy_constructible_v<R>, "imbrex: every handle of a task can give its result: it is copied");

 public:
  using type = R;

  task_result() = default;
  task_result(hetero_task t, const std::optional<R>& at) : hetero_task(std::move(t)), at_(&at) {}

  class [[nodiscard]] awaiter : public hetero_task::awaiter {
   public:
    explicit awaiter(const task_result& r) : hetero_task::awaiter(r.node()), of_(r.at_) {}
    R await_resume() {
      hetero_task::awaiter::await_resume();
      return **of_;
    }

   private:
    const std::optional<R>* of_;
  };
  awaiter operator co_await() const { return awaiter(*this); }

  /// Once it is over. Throws `usage_error` while it is not, and when it failed.
  const R& value() const {
    if (at_ == nullptr || !at_->has_value())
      throw usage_error("a task's result was asked for that is not there: await it");
    return **at_;
  }

 private:
  const std::optional<R>* at_ = nullptr;
};

}  // namespace imbrex
