#pragma once

#include <imbrex/hetero/submission/untyped_task.h>
#include <imbrex/imbrex.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "home.h"
#include "wait.h"

struct CUstream_st;

namespace imbrex_python {

/// What a task's function of Python returned, or threw.
struct outcome {
  value result;
  std::unique_ptr<python_failure> failure;
};

/// What Python has of a task.
class submitted {
 public:
  /// `in_window`: it was recorded, and never runs itself.
  submitted(ix::hetero_task t, std::shared_ptr<outcome> o, bool in_window)
      : task_(std::move(t)), outcome_(std::move(o)), in_window_(in_window) {}
  static wait_pointer until_over(const std::shared_ptr<submitted>& t);
  /// For `after`.
  ix::hetero_task& task() const { return task_.here("a task"); }
  /// Throws `usage_error` for one that was recorded.
  ix::hetero_task& running() const;

 private:
  static ix::task<value> over(ix::hetero_task t, std::shared_ptr<outcome> o);

  of_home<ix::hetero_task> task_;
  std::shared_ptr<outcome> outcome_;
  bool in_window_;
};

/// A function of Python that is called with the memory of the task's objects: on the host as arrays of bytes, which it
/// may not keep; on a GPU as addresses, with the stream's number.
class python_function {
 public:
  /// `objects`: bytes of each, and whether it is only read.
  python_function(value f, std::string name, std::vector<std::pair<std::size_t, bool>> objects,
                  std::shared_ptr<outcome> o)
      : function_(std::move(f)), name_(std::move(name)), objects_(std::move(objects)), outcome_(std::move(o)) {}

  void operator()(const ix::untyped_call& c) const;

 private:
  void call(const ix::untyped_call& c, CUstream_st* native) const;

  value function_;
  std::string name_;
  std::vector<std::pair<std::size_t, bool>> objects_;
  std::shared_ptr<outcome> outcome_;
};

/// `launch_shape` of ((x, y, z) groups, (x, y, z) items of each, bytes of shared memory).
ix::launch_shape shape_of(const nb::tuple& t);
/// The values of a kernel's parameters, of bytes of Python.
std::vector<std::vector<std::byte>> bytes_of_values(const std::vector<nb::object>& values);

}  // namespace imbrex_python
