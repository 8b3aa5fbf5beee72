#include "imbrex/async/task.h"

#include <atomic>
#include <exception>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"

namespace imbrex::detail {

thread_local constinit int frame_end::depth_ = 0;

namespace {
void warn_of_not_awaited(const char* what, const char* remedy) noexcept {
  const executor* const pe = executor::current();
  if (pe == nullptr || (pe->running == nullptr && pe->acting() == nullptr) || std::uncaught_exceptions() > 0) return;
  constexpr int most = 5;
  static std::atomic<int> num{0};
  if (num.fetch_add(1, std::memory_order_relaxed) >= most) return;
  try {
    log_warning(fmt::format("{} was made{} and never awaited: it has done nothing; {}", what,
                            pe->running != nullptr ? fmt::format(" in {}", pe->running->name) : "", remedy));
  } catch (...) {  // no memory: the job goes on as if nothing were the matter
  }
}
}  // namespace

void warn_of_task_not_awaited() noexcept { warn_of_not_awaited("a task", "co_await it"); }

void warn_of_wait_not_awaited() noexcept {
  warn_of_not_awaited("a call or an allreduce", "co_await it; what need not be waited for is sent by send");
}

std::exception_ptr ended_without_value() noexcept {
  return std::make_exception_ptr(
      usage_error("a coroutine that gives a value has ended without co_return: each way through it ends with one"));
}

void throw_no_task() {
  throw usage_error(
      "an empty task was awaited: it was moved from, or never made by a coroutine; await the task that it was moved "
      "to");
}

void throw_task_awaited_before() {
  throw usage_error("a task was awaited a second time: it runs once, so keep its result");
}

void throw_awaited_before() {
  throw usage_error(
      "a call, an insertion or an allreduce was awaited a second time, or after it was moved from: it is done once, so "
      "keep its result");
}

}  // namespace imbrex::detail
