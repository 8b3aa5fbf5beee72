#pragma once

#include <Python.h>

#include <utility>

namespace imbrex_python {

/// While one lives, this thread may use Python: a PE's thread takes the interpreter for a piece of Python and gives it
/// up in between, so that others can compute; where there is no such lock (CPython's free-threaded build), so that
/// nobody waits for it who stops all that run Python. Nested ones do nothing. Never across a `co_await`, nor for what
/// blocks.
class with_python {
 public:
  with_python();
  ~with_python();
  with_python(const with_python&) = delete;

 private:
  bool taken_ = false;
  bool has_turn_ = false;
};

/// A counted reference to an object of Python that lives in coroutines and chares: destroying it takes the interpreter.
class owned {
 public:
  owned() = default;
  /// Takes over a reference.
  explicit owned(PyObject* o) : object_(o) {}
  owned(owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  owned& operator=(owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~owned();
  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

}  // namespace imbrex_python
