#include "imbrex/object/broadcast_slices.h"

#include "imbrex/base/clock.h"
#include "imbrex/object/collection.h"

namespace imbrex {

broadcast_slices::broadcast_slices(std::vector<element_base*> elements, priority p) : elements_(std::move(elements)) {
  act = &broadcast_slices::perform;
  set_priority(p);
}

void broadcast_slices::perform(work* w, work_action action) {
  auto* b = static_cast<broadcast_slices*>(w);
  if (action == work_action::discard) {
    delete b;
    return;
  }
  scheduler& pe = scheduler::current();
  pe.end_operation();
  b->run(pe);
}

void broadcast_slices::run(scheduler& pe) {
  const std::int64_t start = now_ns();
  std::size_t since_look = 0;
  while (next_ < elements_.size()) {
    deliver(pe, *elements_[next_++]);
    if (++since_look < 8 && next_ < elements_.size()) continue;
    since_look = 0;
    if (next_ < elements_.size() && now_ns() - start > slice_ns) {
      if (!std::exchange(interrupted_, true)) is_interrupted();
      pe.begin_operation();
      pe.post_here(this);
      return;
    }
  }
  delete this;
}

array_broadcast::array_broadcast(collection& part, std::vector<element_base*> elements, std::uint32_t number,
                                 priority p)
    : broadcast_slices(std::move(elements), p), part_(part), number_(number) {}

array_broadcast::~array_broadcast() { part_.end_slices(*this); }

void array_broadcast::is_interrupted() { part_.begin_slices(*this); }

void array_broadcast::deliver(scheduler& pe, element_base& e) {
  if (e.object == nullptr || static_cast<std::int32_t>(number_ - e.heard) <= 0) return;
  part_.catch_up(e, number_);
  deliver_now(pe, e);
}

void array_broadcast::deliver_now(scheduler& pe, element_base& e) {
  e.heard = number_;
  if (e.object != nullptr) invoke(pe, e);
}

}  // namespace imbrex
