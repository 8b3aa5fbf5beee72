#include "imbrex/object/collection/broadcast_slices.h"

#include <algorithm>

#include "imbrex/object/collection/collection.h"

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

// A look at the clock costs more than an empty method: while elements take little, there are more of them between two.
void broadcast_slices::run(scheduler& pe) {
  const std::int64_t start = pe.now_ns();
  std::int64_t looked = start;
  std::size_t between_looks = 4;
  while (next_ < elements_.size()) {
    const std::size_t count = std::min(between_looks, elements_.size() - next_);
    next_ += count;
    deliver(pe, elements_.data() + (next_ - count), count);
    if (next_ == elements_.size()) break;
    const std::int64_t now = pe.now_ns();
    if (now - looked < slice_ns / 16) between_looks *= 2;
    if (now - looked > slice_ns / 8) between_looks = std::max<std::size_t>(1, between_looks / 2);
    looked = now;
    if (now - start > slice_ns) {
      if (!std::exchange(interrupted_, true)) is_interrupted();
      pe.begin_operation();
      pe.post_here(this);
      return;
    }
  }
  delete this;
}

array_broadcast::array_broadcast(collection& part, std::vector<element_base*> elements, std::uint32_t number,
                                 priority p, shared_call call)
    : broadcast_slices(std::move(elements), p), part_(part), number_(number), call_(std::move(call)) {}

array_broadcast::~array_broadcast() { part_.end_slices(*this); }

void array_broadcast::deliver(scheduler& pe, element_base* const* elements, std::size_t count) {
  const bool first = is_first();
  for (std::size_t i = 0; i < count; ++i) {
    if (is_turn_of(*elements[i], first)) hear(pe, *elements[i]);
  }
}

void array_broadcast::deliver_now(scheduler& pe, element_base& e) {
  e.heard = number_;
  if (e.object != nullptr) hear(pe, e);
}

void array_broadcast::hear(scheduler& pe, element_base& e) {
  if (e.blocked == 0) [[likely]] {
    call_->invoke(pe, e);
  } else {
    e.more().pending_broadcasts.push_back(call_);
  }
}

void array_broadcast::is_interrupted() { part_.begin_slices(*this); }

void array_broadcast::catch_up(element_base& e) { part_.catch_up(e, number_); }

}  // namespace imbrex
