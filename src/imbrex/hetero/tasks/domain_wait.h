#pragma once

#include <coroutine>
#include <cstdint>

#include "imbrex/async/activity.h"

namespace imbrex {

class hetero_domain;

/// A coroutine that waits for tasks as a whole. For the domain's PE.
class [[nodiscard("co_await it")]] domain_wait : waiter {
 public:
  domain_wait(hetero_domain& domain, std::uint64_t last_age, std::uint64_t below, bool throws)
      : domain_(domain), last_age_(last_age), below_(below), throws_(throws) {}
  domain_wait(const domain_wait&) = delete;
  ~domain_wait();

  bool await_ready() const;
  void await_suspend(std::coroutine_handle<> h);
  void await_resume();

 private:
  friend class hetero_domain;
  hetero_domain& domain_;
  const std::uint64_t last_age_;  // of the tasks that it waits for
  const std::uint64_t below_;     // or until fewer than so many are not over; 0: that is not asked
  const bool throws_;
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
