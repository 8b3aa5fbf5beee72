#include "imbrex/hetero/tasks/hetero_domain.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/coherence/slices.h"
#include "imbrex/hetero/graph/commuting.h"
#include "imbrex/hetero/graph/dependency.h"
#include "imbrex/hetero/graph/task_trace.h"
#include "imbrex/hetero/tasks/eligibility.h"
#include "imbrex/hetero/tasks/task_journal.h"
#include "imbrex/hetero/tasks/task_recording.h"

namespace imbrex {

void hetero_domain::check_uses(task_node& t) const {
  for (task_access& a : t.uses()) {
    if (a.data->domain != this) {
      throw usage_error(fmt::format("{}: an object of another PE: send it there in a message", text(t)));
    }
    if (a.data->stands_for != nullptr) [[unlikely]]
      a.data = a.data->stands_for;
    if (reads(a.mode) && !a.data->defined && !is_defined(*a.data)) [[unlikely]] {
      throw usage_error(
          fmt::format("{}: argument {} is read, but nobody has written it: submit what does before, or "
                      "pass it as one that is written (write); of a chare that has moved, an object that its serialize "
                      "does not name is empty",
                      text(t), &a - t.accesses));
    }
    if (a.data->family != nullptr) {
      if (commutes(a.mode)) a.mode = access_mode::read_write;  // parts have their order
      const std::string conflict = a.data->family->conflict(a);
      if (!conflict.empty()) throw usage_error(text(t) + ": " + conflict);
    }
  }
}

/// Tasks outside a window do not wait for recorded ones, which never run themselves, nor the other way round.
void hetero_domain::check_after(const task_node& t, std::span<const hetero_task> after) const {
  for (const hetero_task& h : after) {
    const task_node* const earlier = h.node();
    if (earlier == nullptr || earlier->domain == nullptr) {
      throw usage_error(fmt::format("task '{}' shall run after a task that was not submitted", t.wishes.name));
    }
    if (earlier->domain != this) {
      throw usage_error(fmt::format("task '{}' shall run after task '{}' of another PE: have that PE send a message",
                                    t.wishes.name, earlier->wishes.name));
    }
    if (!earlier->is_recorded() && recording == nullptr) continue;
    if (recording == nullptr || !recording->has(*earlier)) {
      throw usage_error(
          fmt::format("task '{}' shall run after task '{}', but only one of them is part of a window: order them by an "
                      "object",
                      t.wishes.name, earlier->wishes.name));
    }
  }
}

void hetero_domain::close_reduction(hetero_data& d, int priority) {
  const std::unique_ptr<open_reduction> r(std::exchange(d.reducing, nullptr));
  r->close(priority);
}

/// Of what the task uses, and of what has bytes in common with that.
void hetero_domain::close_reductions_of(task_node& t) {
  for (const task_access& a : t.uses()) {
    hetero_data& d = *a.data->itself();
    if (d.reducing != nullptr) [[unlikely]]
      close_reduction(d, t.wishes.priority);
    if (d.family == nullptr) [[likely]]
      continue;
    d.family->for_each_overlapping(d, [&](hetero_data& e) {
      if (e.reducing != nullptr) close_reduction(e, t.wishes.priority);
    });
  }
}

void hetero_domain::close_reductions() {
  while (&reductions_.next() != &reductions_) close_reduction(reductions_.next().object(), 0);
}

void hetero_domain::drop_reductions() {
  while (&reductions_.next() != &reductions_) delete std::exchange(reductions_.next().object().reducing, nullptr);
}

bool hetero_domain::will_be_written(const hetero_data& d) const {
  return is_defined(d) || (recording != nullptr && recording->writes_to(d));
}

void hetero_domain::submit(task_node* t, std::span<const hetero_task> after) {
  const bool is_here = executor::current() == &pe_;
  if (!is_here) [[unlikely]] {
    if (task_journal* const away = task_journal::current(); away != nullptr) return away->submit(*this, *t, after);
    throw usage_error(text(*t) + " comes from another PE than its objects' own: send them there in a message");
  }
  see_visitors();
  close_reductions_of(*t);
  if (t->domain == nullptr) t->domain = this;
  t->age = ++num_submitted_;
  ++t->references;
  try {
    if (!after.empty()) check_after(*t, after);
    if (recording != nullptr) [[unlikely]]
      return keep(*t, after);
    check_uses(*t);
    if (t->bundle() != nullptr) [[unlikely]]
      join_bundle(*t);
    check_places(*t);
  } catch (...) {
    t->release();
    throw;
  }
  for (const task_access& a : t->uses()) ++a.data->references, ++a.data->of_tasks;
  ++num_outstanding_;
  if (t->num_blockers > 0) begin_progress(*t);  // somebody will let it go
  t->older = last_outstanding_;
  (last_outstanding_ != nullptr ? last_outstanding_->younger : first_outstanding_) = t;
  last_outstanding_ = t;
  for (const hetero_task& earlier : after) order_after(*t, *earlier.node(), failures_);
  if (trace_ != nullptr) [[unlikely]]
    note_submission_in_trace(*t, after);
  queue_uses(*t, failures_);
  if (t->num_blockers == 0) make_ready(*t);
}

void hetero_domain::note_submission_in_trace(const task_node& t, std::span<const hetero_task> after) {
  trace_->submitted(t);
  for (const hetero_task& earlier : after) trace_->follows(t, *earlier.node());
}

/// As part of the window that is being recorded.
void hetero_domain::keep(task_node& t, std::span<const hetero_task> after) {
  if (t.stays_open()) throw usage_error(text(t) + " cannot be recorded: ask for it outside");
  for (const task_access& a : t.uses()) {
    if (a.data->domain != this) throw usage_error(text(t) + ": an object of another PE: send it there in a message");
  }
  for (task_access& a : t.uses()) {
    a.data = a.data->itself();
    if (commutes(a.mode)) a.mode = access_mode::read_write;  // a window has its order
  }
  if (t.bundle() != nullptr)
    throw usage_error(text(t) + ": a window runs where it can as a whole: leave its bundle out");
  check_places(t);
  recording->keep(t, after);
  t.release();
}

void hetero_domain::make_ready(task_node& t, const task_node* last_blocker) {
  if (t.takes_turns && !take_turn(t, failures_)) [[unlikely]]
    return rest(t);
  t.state = task_state::ready;
  if (trace_ != nullptr) [[unlikely]]
    trace_->ready(t, last_blocker);
  if (!t.in_progress) begin_progress(t);
  if (t.sliced) [[unlikely]]
    poison_by_worthless_bytes(t, failures_);
  if (t.fault == task_fault::inherited || t.placed != placed_by::policy) [[unlikely]] {
    keep_from_policy(t);
  } else {
    policy_->push(t);
  }
  wake_up();
}

[[gnu::noinline]] void hetero_domain::keep_from_policy(task_node& t) {
  (t.fault == task_fault::inherited ? doomed_ : unplaced_).push(t);
}

void hetero_domain::unblock(task_node& t) {
  if (--t.num_blockers == 0) make_ready(t);
}

}  // namespace imbrex
