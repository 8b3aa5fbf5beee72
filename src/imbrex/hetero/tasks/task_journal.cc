#include "imbrex/hetero/tasks/task_journal.h"

#include <vector>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/tasks/eligibility.h"
#include "imbrex/hetero/tasks/hetero_domain.h"

namespace imbrex {

constinit task_journal task_journal::visitors_;

task_journal::~task_journal() {
  while (first_ != nullptr) {
    work* const w = std::exchange(first_, first_->next);
    w->act(w, work_action::discard);
  }
}

/// A task that has not been submitted is the thread's own.
bool task_journal::knows_near(const hetero_domain* d) const {
  return home_ == nullptr && (d == nullptr || &d->pe() == executor::current());
}

bool task_journal::can_reach(const hetero_domain& d) const {
  return home_ == &d || knows_near(&d) || d.visits() != nullptr;
}

visit_queue& task_journal::visits_of(hetero_domain& d) {
  if (d.visits() == nullptr) {
    throw usage_error(
        "an object or task of another PE was used: send it there in a message, or make it with a domain of "
        "imbrex::process_domain");
  }
  return *d.visits();
}

void task_journal::keep(work* w) {
  w->next = nullptr;
  (first_ != nullptr ? last_->next : first_) = w;
  last_ = w;
}

void task_journal::replay() {
  std::exception_ptr first;
  while (first_ != nullptr) {
    work* const w = std::exchange(first_, first_->next);
    try {
      w->act(w, work_action::run);
    } catch (...) {
      if (first == nullptr) first = std::current_exception();
    }
  }
  if (first != nullptr) std::rethrow_exception(first);
}

// ------------------------------------------------------------------------------------------------ handles

void task_journal::hold(hetero_data& d) {
  have_done(*d.domain, [&d] {
    ++d.references;
    ++d.handles;
  });
}

/// Who has a handle that it should not have keeps the object.
void task_journal::give_up(hetero_data& d) {
  if (!can_reach(*d.domain)) return;
  have_done(*d.domain, [&d] { d.domain->give_up(d); });
}

void task_journal::hold(task_node& t) {
  if (hetero_domain* const d = t.domain != nullptr ? t.domain : home_; d != nullptr) {
    have_done(*d, [&t] { ++t.references; });
  } else {
    ++t.references;
  }
}

void task_journal::give_up(task_node& t) {
  if (hetero_domain* const d = t.domain != nullptr ? t.domain : home_; d != nullptr) {
    have_done(*d, [&t] { t.release(); });
  } else {
    t.release();
  }
}

void task_journal::evict(hetero_data& d) {
  have_done(*d.domain, [&d] { d.domain->evict(*d.itself()); });
}

hetero_data* task_journal::part(hetero_data& of, const part_of_object& which) {
  hetero_domain& domain = *of.domain;
  if (knows_near(&domain)) return domain.part(of, which);
  hetero_data* const d = domain.copies().make(domain, which.where.bytes());
  have_done(domain, [d, &of, which] {
    hetero_data* const part = d->domain->part(of, which);
    ++part->references;
    ++part->handles;
    d->stands_for = part;
  });
  return d;
}

// ------------------------------------------------------------------------------------------------ tasks

void task_journal::submit(hetero_domain& to, task_node& t, std::span<const hetero_task> after) {
  if (home_ != &to) return submit_there(to, t, after);
  std::vector<task_node*> earlier;
  for (const hetero_task& h : after) earlier.push_back(h.node());
  have_done(to, [&to, &t, earlier = std::move(earlier)] {
    const std::vector<hetero_task> handles(earlier.begin(), earlier.end());
    to.submit(&t, handles);
  });
}

/// To another PE, at once; nobody waits for what it says to that: a task that it refuses fails.
void task_journal::submit_there(hetero_domain& to, task_node& t, std::span<const hetero_task> after) {
  visit_queue& visits = visits_of(to);
  for (const task_access& a : t.uses()) {
    if (a.data->domain != &to) throw usage_error(text(t) + ": its objects belong to several PEs");
  }
  std::vector<task_node*> earlier;
  for (const hetero_task& h : after) {
    if (h.node() == nullptr || h.node()->domain != &to) {
      throw usage_error(
          fmt::format("task '{}' shall run after a task of another PE, or one that was not submitted", t.wishes.name));
    }
    earlier.push_back(h.node());
  }
  t.domain = &to;
  visits.ask([&to, &t, earlier = std::move(earlier)] {
    try {
      const std::vector<hetero_task> handles(earlier.begin(), earlier.end());
      to.submit(&t, handles);
    } catch (...) {
      to.refuse(t, std::current_exception());
    }
  });
}

}  // namespace imbrex
