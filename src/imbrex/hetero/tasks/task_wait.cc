#include "imbrex/hetero/tasks/task_wait.h"

#include <utility>

#include <fmt/format.h>

#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/task_journal.h"

namespace imbrex {

void task_wait::leave() {
  if (handle && !is_far_) stop_waiting(*of_, *this);
  handle = nullptr;
}

void task_wait::wait_for(task_node& t, std::coroutine_handle<> h, bool (*is_there)(const task_node&),
                         std::string (*what)(const waiter*)) {
  of_ = &t;
  is_far_ = !task_journal::is_near(t.domain);
  suspend(h, is_far_ ? &describe_far : what);
  if (!is_far_) return add_waiting(t, *this);
  auto ask = [&t, is_there, stands = far_.stand_for(*this)]() mutable {
    waiter& w = *stands.release();
    is_there(t) ? w.wake() : add_waiting_afar(t, w);
  };
  t.domain->visits()->ask(std::move(ask));
}

std::string task_wait::describe_far(const waiter* w) {
  return fmt::format("task '{}', which another PE has", static_cast<const task_wait*>(w)->of_->wishes.name);
}

void throw_failure(task_node& t) {
  if (task_journal::is_near(t.domain)) {
    t.domain->failures().see(t.failure());
    std::rethrow_exception(t.failure());
  }
  std::exception_ptr mine = copy_of_failure(t.failure());
  t.domain->visits()->ask([domain = t.domain, failure = t.failure()] { domain->failures().see(failure); });
  std::rethrow_exception(std::move(mine));
}

}  // namespace imbrex
