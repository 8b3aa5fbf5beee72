#include "imbrex/hetero/visits/visit_queue.h"

namespace imbrex {

visit_queue::visit_queue(executor& home) : home_(home) {
  turn_.of = this;
  turn_.set_priority(priorities::communication);
  turn_.act = [](work* w, work_action action) {
    visit_queue& self = *static_cast<turn*>(w)->of;
    self.called_.exchange(false, std::memory_order_acq_rel);  // sees what those have asked who found it set
    if (action == work_action::run) self.do_all();
  };
}

visit_queue::~visit_queue() {
  if (called_.load(std::memory_order_acquire)) home_.withdraw(&turn_);
  for (work* const w : waiting_) w->act(w, work_action::discard);
  for (work* w = queue_.take_all(); w != nullptr;) {
    work* const following = w->next;
    w->act(w, work_action::discard);
    w = following;
  }
}

void visit_queue::open() {
  is_open_ = true;
  for (work* const w : std::exchange(waiting_, {})) w->act(w, work_action::run);
}

void visit_queue::push(work* w) {
  if (executor* const here = executor::current(); here != nullptr) ++here->errands_given;
  static_cast<void>(queue_.push(w));
  if (!called_.exchange(true, std::memory_order_acq_rel)) home_.post(&turn_);
}

/// An errand may submit a task, which comes here again.
void visit_queue::do_all() {
  if (busy_) return;
  busy_ = true;
  for (work* const w : waiting_) w->act(w, work_action::discard);
  for (work* w = queue_.take_all(); w != nullptr; w = queue_.take_all()) {
    while (w != nullptr) {
      work* const following = w->next;
      ++home_.errands_done;
      w->act(w, work_action::run);
      w = following;
    }
  }
  busy_ = false;
}

}  // namespace imbrex
