#include "imbrex/hetero/tasks/domain_wait.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/task_waits.h"

namespace imbrex {

domain_wait::~domain_wait() {
  if (!handle) return;
  work** at = &domain_.waits_;
  while (*at != nullptr && *at != this) at = &(*at)->next;
  if (*at != nullptr) {
    *at = next;
  } else {
    home->withdraw(this);
  }
}

bool domain_wait::await_ready() const { return domain_.is_over(*this); }

void domain_wait::await_suspend(std::coroutine_handle<> h) {
  suspend(h, [](const waiter* w) {
    const auto& self = *static_cast<const domain_wait*>(w);
    if (self.below_ > 0) {
      return fmt::format("fewer tasks than {}; {} are not over", self.below_, self.domain_.num_outstanding());
    }
    const task_node* const t = self.domain_.first_left(self.last_age_);
    if (t == nullptr) return std::string("all tasks, which are over");
    return fmt::format("all tasks; '{}' is {}", t->wishes.name, how_far(*t));
  });
  next = domain_.waits_;
  domain_.waits_ = this;
}

void domain_wait::await_resume() {
  handle = nullptr;
  if (!throws_ || domain_.failures().size() == 0) return;
  const std::exception_ptr first = domain_.failures().first();
  domain_.failures().see(first);
  std::rethrow_exception(first);
}

domain_wait all_tasks() { return hetero_domain::current().all_over(); }

domain_wait fewer_tasks_than(std::uint64_t n) { return hetero_domain::current().fewer_than(n); }

domain_wait hetero_domain::all_over() { return {*this, num_submitted_, 0, true}; }
domain_wait hetero_domain::fewer_than(std::uint64_t n) {
  if (n == 0) throw usage_error("fewer tasks than 0: give at least 1, or await all_tasks()");
  return {*this, 0, n, false};
}

const task_node* hetero_domain::first_left(std::uint64_t last_age) const {
  const task_node* t = first_outstanding_;
  while (t != nullptr && t->is_view()) t = t->younger;
  return t != nullptr && t->age <= last_age ? t : nullptr;
}

bool hetero_domain::is_over(const domain_wait& w) const {
  return w.below_ > 0 ? num_outstanding_ < w.below_ : first_left(w.last_age_) == nullptr;
}

void hetero_domain::wake_domain_waits() {
  work** at = &waits_;
  while (*at != nullptr) {
    auto* const w = static_cast<domain_wait*>(*at);
    if (is_over(*w)) {
      *at = w->next;
      w->wake();
    } else {
      at = &w->next;
    }
  }
}

}  // namespace imbrex
