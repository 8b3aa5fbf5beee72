#include "imbrex/hetero/tasks/hetero_domain.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/graph/dependency.h"
#include "imbrex/hetero/graph/task_trace.h"
#include "imbrex/hetero/tasks/eligibility.h"
#include "imbrex/hetero/tasks/task_journal.h"
#include "imbrex/hetero/tasks/task_stealing.h"
#include "imbrex/hetero/visits/far_wait.h"

namespace imbrex {

hetero_domain::hetero_domain(executor& pe, device& host, const std::vector<device*>& devices,
                             const hetero_options& options)
    : hetero_domain(pe, host, devices, options, make_placement_policy(options.policy, options.costs)) {}

hetero_domain::hetero_domain(executor& pe, device& host, const std::vector<device*>& devices,
                             const hetero_options& options, std::unique_ptr<placement_policy> policy)
    : pe_(pe),
      options_(options),
      copies_(
          host, devices, options, [](void* d) { static_cast<hetero_domain*>(d)->wake_up(); }, this),
      policy_(std::move(policy)),
      is_real_time_(pe.time == &machine_time()),
      learns_(policy_->learns()),
      short_of_memory_(places().size()) {
  if (options.compute_lanes < 1 || options.tasks_under_way < 1) {
    throw config_error(fmt::format("{} compute streams and {} tasks under way: a device needs at least one of each",
                                   options.compute_lanes, options.tasks_under_way));
  }
  if (pe.track != nullptr && pe.recorder != nullptr) trace_ = std::make_unique<task_trace>(pe, *pe.track, *pe.recorder);
  turn_.owner = this;
  turn_.act = &turn::take;
  turn_.set_priority(priorities::normal);
}

hetero_domain& hetero_domain::current() {
  if (task_journal* const away = task_journal::of_task_away(); away != nullptr) return away->home();
  executor* const pe = executor::current();
  if (pe != nullptr && pe->tasks == nullptr && pe->open_tasks != nullptr) pe->open_tasks(*pe);
  if (pe == nullptr || pe->tasks == nullptr)
    throw usage_error("objects and tasks belong to a PE: make them in a chare's method, or name a domain");
  return *pe->tasks;
}

hetero_domain::~hetero_domain() {
  see_visitors();
  drop_far_conditions();
  if (pe_.tasks == this) pe_.tasks = nullptr;
  if (helpers_ != nullptr) helpers_->offer(place_among_helpers_, nullptr);
  if (turn_posted_) pe_.withdraw(&turn_);
  if (num_in_progress_ > 0) --pe_.operations;
  for (const std::string& what : failures_.texts(1)) {
    pe_.fail("a task has failed, and nobody has awaited it before its domain ended: " + what);
  }
  for (const auto& p : places()) p->for_each_lane([](lane& l) { l.abandon(); });
  for (task_node* t = first_outstanding_; t != nullptr;) {
    task_node* const next = t->younger;
    drop(*t);
    t = next;
  }
}

visit_queue& hetero_domain::prepare_visits() {
  if (visits_ == nullptr) visits_ = std::make_unique<visit_queue>(pe_);
  return *visits_;
}

void hetero_domain::refuse(task_node& t, std::exception_ptr why) {
  t.state = task_state::failed;
  t.fault = task_fault::own;
  t.extras().failure = why;
  failures_.add(std::move(why));
}

hetero_data* hetero_domain::part(hetero_data& of, const part_of_object& which) {
  hetero_data& d = *of.itself();
  const box& where = which.where;
  if (which.row_bytes == 0) return copies_.slice(d, where.begin[0], where.bytes(), which.element_bytes);
  return copies_.tile(d, where, which.row_bytes, which.num_rows, which.element_bytes);
}

namespace {
/// Of coroutines of other PEs, which are gone.
void drop_far_waits(task_node& t) {
  if (!t.has_extras()) return;
  for (waiter* w = std::exchange(t.extras().awaiting_afar, nullptr); w != nullptr;) {
    auto* const following = static_cast<waiter*>(w->next);
    far_wait::drop()(static_cast<far_wait*>(w));
    w = following;
  }
}
}  // namespace

void hetero_domain::drop(task_node& t) {
  t.state = task_state::failed;
  t.fault = task_fault::own;
  t.extras().failure = std::make_exception_ptr(usage_error(text(t) + ": the job has ended before it could"));
  while (task_edge* const e = t.successors) {
    t.successors = e->next;
    free_edge(e);
  }
  drop_far_waits(t);
  unqueue_uses(t);
  release_uses(t);
  t.release();
}

void hetero_domain::turn::take(work* w, work_action action) {
  hetero_domain& d = *static_cast<turn*>(w)->owner;
  d.turn_posted_ = false;
  if (action == work_action::run) d.dispatch();
}

void hetero_domain::wake_up() {
  changed_ = true;
  if (dispatching_ || turn_posted_) return;
  turn_posted_ = true;
  pe_.post(&turn_);
}

}  // namespace imbrex
