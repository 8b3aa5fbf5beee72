#pragma once

#include <coroutine>

#include "imbrex/pe/reply_impl.h"

namespace imbrex {

/// What `co_await rt.quiescence()` awaits: PE 0 is asked to tell of the next quiescence (`quiescence_detector`).
struct [[nodiscard]] quiescence_wait {
  struct [[nodiscard]] awaiter : reply_awaiter<void> {
    void await_suspend(std::coroutine_handle<> h);
    void await_resume() { take(); }
  };
  awaiter operator co_await() const { return {}; }
};

}  // namespace imbrex
