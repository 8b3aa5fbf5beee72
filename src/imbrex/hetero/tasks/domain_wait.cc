#include "imbrex/hetero/tasks/domain_wait.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/task_journal.h"
#include "imbrex/hetero/tasks/task_waits.h"

namespace imbrex {

domain_wait::domain_wait(hetero_domain& domain, std::uint64_t below)
    : domain_(domain), is_far_(!task_journal::is_near(&domain)) {
  wanted_.below = below;
  wanted_.throws = below == 0;
  if (!is_far_) wanted_.last_age = domain.num_submitted();
}

domain_wait::~domain_wait() {
  if (!handle || is_far_) return;
  if (!domain_.forget(wanted_)) home->withdraw(this);
}

bool domain_wait::await_ready() const { return !is_far_ && domain_.is_over(wanted_); }

void domain_wait::await_suspend(std::coroutine_handle<> h) {
  suspend(h, is_far_ ? &describe_far : &describe_near);
  if (is_far_) return ask_there();
  wanted_.who = this;
  domain_.add(wanted_);
}

/// What is waited for is kept there; it is what the visitors have submitted by now, too.
void domain_wait::ask_there() {
  auto condition = std::make_unique<domain_condition>(wanted_);
  condition->is_far = true;
  domain_.visits()->ask([&d = domain_, c = std::move(condition), stands = far_.stand_for(*this)]() mutable {
    c->last_age = d.num_submitted();
    c->who = stands.release();
    d.add(*c.release());
    d.wake_domain_waits();
  });
}

std::string domain_wait::describe_near(const waiter* w) {
  const auto& self = *static_cast<const domain_wait*>(w);
  if (self.wanted_.below > 0) {
    return fmt::format("fewer tasks than {}; {} are not over", self.wanted_.below, self.domain_.num_outstanding());
  }
  const task_node* const t = self.domain_.first_left(self.wanted_.last_age);
  if (t == nullptr) return "all tasks, which are over";
  return fmt::format("all tasks; '{}' is {}", t->wishes.name, how_far(*t));
}

std::string domain_wait::describe_far(const waiter* w) {
  const std::uint64_t below = static_cast<const domain_wait*>(w)->wanted_.below;
  return below > 0 ? fmt::format("fewer tasks than {} on another PE", below) : "all tasks of another PE";
}

void domain_wait::await_resume() {
  handle = nullptr;
  if (is_far_) {
    if (const std::exception_ptr failure = far_.take_failure(); failure != nullptr) std::rethrow_exception(failure);
  } else if (wanted_.throws && domain_.failures().size() > 0) {
    std::rethrow_exception(domain_.failures().see_first());
  }
}

domain_wait all_tasks() { return hetero_domain::current().all_over(); }

domain_wait fewer_tasks_than(std::uint64_t n) { return hetero_domain::current().fewer_than(n); }

domain_wait hetero_domain::all_over() { return {*this, 0}; }
domain_wait hetero_domain::fewer_than(std::uint64_t n) {
  if (n == 0) throw usage_error("fewer tasks than 0: give at least 1, or await all_tasks()");
  return {*this, n};
}

const task_node* hetero_domain::first_left(std::uint64_t last_age) const {
  const task_node* t = first_outstanding_;
  while (t != nullptr && t->is_view()) t = t->younger;
  return t != nullptr && t->age <= last_age ? t : nullptr;
}

bool hetero_domain::is_over(const domain_condition& c) const {
  return c.below > 0 ? num_outstanding_ < c.below : first_left(c.last_age) == nullptr;
}

void hetero_domain::add(domain_condition& c) {
  c.next = waits_;
  waits_ = &c;
}

bool hetero_domain::forget(const domain_condition& c) {
  domain_condition** at = &waits_;
  while (*at != nullptr && *at != &c) at = &(*at)->next;
  if (*at == nullptr) return false;
  *at = c.next;
  return true;
}

void hetero_domain::wake_domain_waits() {
  domain_condition** at = &waits_;
  while (*at != nullptr) {
    domain_condition& c = **at;
    if (is_over(c)) {
      *at = c.next;
      wake(c);
    } else {
      at = &c.next;
    }
  }
}

/// Another PE is given its failure with the news.
void hetero_domain::wake(domain_condition& c) {
  waiter& who = *c.who;
  if (c.is_far) {
    if (c.throws && failures_.size() > 0) static_cast<far_wait&>(who).failure = copy_of_failure(failures_.see_first());
    delete &c;
  }
  who.wake();
}

void hetero_domain::drop_far_conditions() {
  for (domain_condition* c = std::exchange(waits_, nullptr); c != nullptr;) {
    domain_condition* const following = c->next;
    if (c->is_far) {
      far_wait::drop()(static_cast<far_wait*>(c->who));
      delete c;
    } else {
      add(*c);
    }
    c = following;
  }
}

}  // namespace imbrex
