#pragma once

#include <exception>
#include <thread>

#include "imbrex/async/completion.h"
#include "imbrex/async/task.h"
#include "imbrex/base/topology.h"

namespace imbrex {

/// Runs `f` on a thread of its own, which has all cores of the process; when awaited it has ended, and what it threw is
/// thrown here. Quiescence waits for it.
template <class F>
task<> behind(F f) {
  completion ended;
  std::exception_ptr failure;
  std::thread worker([&] {
    unpin_this_thread();
    try {
      f();
    } catch (...) {
      failure = std::current_exception();
    }
    ended.set();
  });
  struct joined {
    std::thread& t;
    ~joined() { t.join(); }
  } join{worker};
  co_await ended;
  if (failure) std::rethrow_exception(failure);
}

}  // namespace imbrex
