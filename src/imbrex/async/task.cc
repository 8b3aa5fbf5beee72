#include "imbrex/async/task.h"

#include "imbrex/base/error.h"

namespace imbrex::detail {

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
