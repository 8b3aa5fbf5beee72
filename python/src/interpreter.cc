#include "interpreter.h"

#include <imbrex/base/clock.h>

#include <atomic>
#include <cstdint>

namespace imbrex_python {

namespace {

#ifdef Py_GIL_DISABLED
bool take_turn() { return false; }
void end_turn() {}
#else
/// PEs wait for each other here, before the interpreter's own lock: to wake a thread that sleeps there takes some 25
/// microseconds, and most pieces of Python are over sooner.
std::atomic<bool> somebody_has_turn{false};

bool take_turn() {
  constexpr std::uint64_t patience = 60'000;  // cycles: some 20 microseconds
  const std::uint64_t began = imbrex::cycle_count();
  do {
    if (!somebody_has_turn.load(std::memory_order_relaxed) &&
        !somebody_has_turn.exchange(true, std::memory_order_acquire)) {
      return true;
    }
    imbrex::cpu_relax();
  } while (imbrex::cycle_count() - began < patience);
  return false;
}

void end_turn() { somebody_has_turn.store(false, std::memory_order_release); }
#endif

/// Of a thread that Python has not made: known to it from the first use to the thread's end.
struct known_thread {
  PyThreadState* state = nullptr;
  PyGILState_STATE before{};

  ~known_thread() {
    if (state == nullptr || !Py_IsInitialized()) return;
    PyEval_RestoreThread(state);
    PyGILState_Release(before);
  }
};
thread_local known_thread this_thread;

}  // namespace

with_python::with_python() {
  PyThreadState* const known = PyGILState_GetThisThreadState();
  if (known != nullptr && PyGILState_Check() != 0) return;
  has_turn_ = take_turn();
  if (known == nullptr) {
    this_thread.before = PyGILState_Ensure();
    this_thread.state = PyGILState_GetThisThreadState();
  } else {
    PyEval_RestoreThread(known);
  }
  taken_ = true;
}

with_python::~with_python() {
  if (taken_) PyEval_SaveThread();
  if (has_turn_) end_turn();
}

owned::~owned() {
  if (object_ == nullptr || !Py_IsInitialized()) return;
  const with_python here;
  Py_DECREF(object_);
}

}  // namespace imbrex_python
