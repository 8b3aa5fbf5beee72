#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <string>

#include "imbrex/async/activity.h"
#include "imbrex/hetero/visits/far_wait.h"

namespace imbrex {

class hetero_domain;

/// What is waited for at a domain: that all tasks up to an age are over, or that few are not.
struct domain_condition {
  std::uint64_t last_age = 0;
  std::uint64_t below = 0;  ///< until fewer than so many are not over; 0: that is not asked
  waiter* who = nullptr;    ///< to be woken
  bool is_far = false;      ///< it is a `far_wait`, which owns this
  bool throws = false;      ///< a failure that nobody has been told of
  domain_condition* next = nullptr;
};

/// A coroutine that waits for tasks as a whole. For the domain's PE, and those that visit it.
class [[nodiscard("co_await it")]] domain_wait : waiter {
 public:
  /// `below`: 0 for all that are submitted by now, on the domain's PE.
  domain_wait(hetero_domain& domain, std::uint64_t below);
  domain_wait(const domain_wait&) = delete;
  ~domain_wait();

  bool await_ready() const;
  void await_suspend(std::coroutine_handle<> h);
  void await_resume();

 private:
  static std::string describe_near(const waiter* w);
  static std::string describe_far(const waiter* w);
  void ask_there();

  hetero_domain& domain_;
  const bool is_far_;
  domain_condition wanted_;
  far_link far_;
};

/// \name Of the calling PE
///@{
/// `co_await imbrex::all_tasks()`: until every task that was submitted by now is over, and what they have sent and were
/// sent. Views do not count. Throws a failure that nobody has been told of, the first; asked again, the next.
domain_wait all_tasks();
/// `co_await imbrex::fewer_tasks_than(10'000)`, between submissions: until fewer than so many tasks are not over, and
/// at once when they are fewer, so that a million tasks need no more memory than these. Throws `usage_error` for 0.
domain_wait fewer_tasks_than(std::uint64_t n);
///@}

}  // namespace imbrex
