#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "value.h"

namespace imbrex_python {

/// What a coroutine of Python awaits. `await w` gives it to the coroutine of the runtime that drives it.
struct wait {
  /// `unawaited`: what Python is warned of when it goes without having been awaited, and so has not been done; null: of
  /// nothing. Static lifetime.
  explicit wait(std::function<ix::task<value>()> f, const char* unawaited = nullptr)
      : begin(std::move(f)), unawaited_(unawaited) {}
  /// `otherwise`: is done in its place when it goes without having been awaited.
  wait(std::function<ix::task<value>()> f, std::function<void()> otherwise)
      : begin(std::move(f)), unawaited_(nullptr), otherwise_(std::move(otherwise)) {}
  wait(const wait&) = delete;
  wait& operator=(const wait&) = delete;
  ~wait();
  std::function<ix::task<value>()> begin;
  /// Once.
  ix::task<value> go();

 private:
  void do_otherwise() const;
  void warn() const;
  const char* unawaited_;
  std::function<void()> otherwise_;
};
using wait_pointer = std::shared_ptr<wait>;

/// Runs a coroutine of Python to its end, and gives what it returns; what it throws is a `python_failure`. `where`: for
/// that; lives as long.
ix::task<value> drive(owned coroutine, const char* where);

/// The wait that an object of Python is; null: it is none, None for instance.
wait_pointer wait_of(nb::handle o);

/// Until all of them, waits and coroutines, are over; gives a list of what they gave. Begins none before it is awaited.
wait_pointer gather(std::vector<nb::object> all);

/// Something that is set once, on the PE of who awaits it.
class future {
 public:
  explicit future(std::string what) : what_(std::move(what)) {}
  void set(const nb::object& v);
  bool is_set() const { return is_set_; }
  static wait_pointer wait_for(std::shared_ptr<future> f);

 private:
  class awaiter;
  static ix::task<value> until_set(std::shared_ptr<future> f);

  const std::string what_;
  bool is_set_ = false;
  value value_;
  ix::waiter* waiting_ = nullptr;
};

}  // namespace imbrex_python
