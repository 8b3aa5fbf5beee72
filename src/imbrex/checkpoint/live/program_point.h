#pragma once

#include <coroutine>
#include <string>

#include "imbrex/checkpoint/live/checkpoint_leader.h"
#include "imbrex/checkpoint/live/checkpoint_signal.h"
#include "imbrex/checkpoint/live/checkpointer.h"
#include "imbrex/pe/reply_impl.h"

namespace imbrex::detail {

/// What `co_await rt.checkpoint_point()` awaits.
struct program_point {
  struct [[nodiscard]] awaiter : reply_awaiter<bool> {
    bool await_ready() const { return !checkpointer::of(scheduler::current()).has_points(); }
    void await_suspend(std::coroutine_handle<> h) {
      const reply_to r = expect(h, [](const waiter*) { return std::string("a checkpoint to be taken"); });
      checkpointer::of(scheduler::current()).leader().reached({no_pe, {}, r}, checkpoint_signals::pending());
    }
    bool await_resume() { return answer && take(); }
  };
  awaiter operator co_await() const {
    const scheduler& pe = scheduler::current();
    if (pe.id() != 0 || pe.acting() != nullptr)
      throw usage_error("rt.checkpoint_point() is for the main chare; elements wait for checkpoint_point(*this)");
    return {};
  }
};

}  // namespace imbrex::detail
