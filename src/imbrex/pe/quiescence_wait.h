#pragma once

#include <coroutine>

#include "imbrex/pe/reply_impl.h"

namespace imbrex {

/// What `co_await rt.quiescence()` awaits: PE 0 is asked to tell of the next quiescence (`quiescence_detector`).
struct [[nodiscard]] quiescence_wait {
  /// For those who make the job go on afterwards, as at a point of a checkpoint: to a program it has not been quiet.
  bool before_others = false;

  struct [[nodiscard]] awaiter : reply_awaiter<void> {
    explicit awaiter(bool first) : before_others(first) {}
    bool before_others;
    void await_suspend(std::coroutine_handle<> h);
    void await_resume() { take(); }
  };
  awaiter operator co_await() const { return awaiter(before_others); }
};

}  // namespace imbrex
