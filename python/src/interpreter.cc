#include "interpreter.h"

namespace imbrex_python {

namespace {

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
  if (known == nullptr) {
    this_thread.before = PyGILState_Ensure();
    this_thread.state = PyGILState_GetThisThreadState();
    taken_ = true;
  } else if (PyGILState_Check() == 0) {
    PyEval_RestoreThread(known);
    taken_ = true;
  }
}

with_python::~with_python() {
  if (taken_) PyEval_SaveThread();
}

owned::~owned() {
  if (object_ == nullptr || !Py_IsInitialized()) return;
  const with_python here;
  Py_DECREF(object_);
}

}  // namespace imbrex_python
