#pragma once

#include <exception>
#include <memory>

#include "imbrex/async/activity.h"

namespace imbrex {

class far_link;

/// Stands at one PE for a coroutine of another that waits for something there: woken, it comes home and lets the
/// coroutine go on, unless that is gone by then. The coroutine keeps a `far_link` to it.
struct far_wait final : waiter {
  waiter* who = nullptr;       ///< null: gone. Of the coroutine's PE, as what follows
  far_link* link = nullptr;    ///< its link to this
  std::exception_ptr failure;  ///< set where it is woken: for `far_link::take_failure`

  /// Of one that has not been woken, and will not be.
  struct drop {
    void operator()(far_wait* w) const;
  };
};
using far_wait_ptr = std::unique_ptr<far_wait, far_wait::drop>;

/// A waiting coroutine's link to its `far_wait`, on the PE that has what it waits for. Destroyed, it takes the wait
/// back: nobody is woken.
class far_link {
 public:
  far_link() = default;
  far_link(const far_link&) = delete;
  far_link& operator=(const far_link&) = delete;
  ~far_link() {
    if (wait_ != nullptr) wait_->who = nullptr;
  }

  /// Of a coroutine that has been suspended: what to wake in its place, once.
  far_wait_ptr stand_for(waiter& who);
  bool is_waiting() const { return wait_ != nullptr; }
  /// What it has brought.
  std::exception_ptr take_failure() { return std::move(failure_); }

 private:
  static void come_home(work* w, work_action action);

  far_wait* wait_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace imbrex
