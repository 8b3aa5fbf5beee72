#include "imbrex/hetero/tasks/hetero_domain.h"

#include <algorithm>
#include <cstdint>

#include "imbrex/base/error.h"
#include "imbrex/hetero/graph/commuting.h"

#include "imbrex/hetero/graph/dependency.h"
#include "imbrex/hetero/graph/task_trace.h"
#include "imbrex/hetero/tasks/eligibility.h"

namespace imbrex {

void hetero_domain::close(task_node& t) {
  if (lane* const l = t.open_in(); l != nullptr) {
    enqueued(t, *l);
    return wake_up();  // which tells the PE of the lane's end
  }
  copies_.used(t, {});
  t.state = t.threw() ? task_state::failed : task_state::done;
  complete(t);
}

bool hetero_domain::cancel(task_node& t) {
  const bool has_begun =
      t.state != task_state::waiting && t.state != task_state::ready && t.state != task_state::fetching;
  if (has_begun || t.stays_open() || t.is_recorded() || t.fault != task_fault::none) return false;
  t.fault = task_fault::inherited;
  t.extras().failure = std::make_exception_ptr(cancelled_error(text(t) + ", was cancelled"));
  wake_up();
  return true;
}

void hetero_domain::complete(task_node& t) {
  copies_.unpin(t);
  if (t.fault == task_fault::own) [[unlikely]]
    failures_.add(t.failure());  // before it is passed on: who fails by it and by another joins the two
  release(t);
  if (trace_ != nullptr) [[unlikely]]
    trace_->over(t);
  if (learns_ && t.placed == placed_by::policy && t.at != nullptr) {
    // 0: it never ran. Clocks of PEs differ in virtual time.
    policy_->finished(t, std::max<std::int64_t>(t.ran().ended_ns - t.ran().began_ns, 0));
  }
  release_uses(t);
  ++copies_.counts().tasks;
  rest(t);  // before anybody on another PE sees that it is over
  wake_waiting(t);
  (t.older != nullptr ? t.older->younger : first_outstanding_) = t.younger;
  (t.younger != nullptr ? t.younger->older : last_outstanding_) = t.older;
  --num_outstanding_;
  if (waits_ != nullptr) [[unlikely]]
    wake_domain_waits();
  changed_ = true;
  t.release();
}

void hetero_domain::release(task_node& t) {
  if (trace_ != nullptr) [[unlikely]]
    trace_->lets_go(t);
  const auto go_on = [this, &t](task_node& free) { make_ready(free, &t); };
  release_successors(t, failures_, go_on);
  if (t.takes_turns) [[unlikely]]
    end_turn(t, go_on);
}

void hetero_domain::release_uses(task_node& t) {
  for (const task_access& a : t.uses()) {
    --a.data->of_tasks;
    copies_.release(a.data);
  }
  t.num_accesses = 0;
}

}  // namespace imbrex
