#include "imbrex/object/data/object_loan.h"

#include <utility>

#include "imbrex/comm/data/lent_buffer.h"
#include "imbrex/device/buffer.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex::detail {

/// What somebody still reads; its end tells the loan.
struct object_desk::leaving_copy : lent_state {
  object_desk* desk = nullptr;
  std::uint64_t number = 0;

  static lent_buffer make(object_desk& desk, loan& l) {
    auto* s = new (slab::allocate(sizeof(leaving_copy))) leaving_copy;
    s->home = executor::current();
    s->act = &leaving_copy::come;
    s->set_priority(priorities::communication);
    s->references = 1;
    s->desk = &desk;
    s->number = l.number;
    ++s->home->operations;
    ++l.num_leaving;
    return {l.reading->memory, l.reading->use.data->bytes, s};
  }
  static void come(work* w, work_action action) {
    auto* s = static_cast<leaving_copy*>(w);
    --s->home->operations;
    if (action == work_action::run) {
      loan& l = *s->desk->loans_.at(s->number);
      --l.num_leaving;
      s->desk->end_when_over(l);
    }
    s->release();
  }
};

std::shared_ptr<loan_share> object_desk::lend(hetero_data& d) {
  auto l = std::make_unique<loan>();
  l->desk = this;
  l->number = ++last_number_;
  prepare(*l, [](work* w, work_action action) {
    if (action != work_action::run) return;
    auto* self = static_cast<loan*>(w);
    self->told = true;
    // Who has a share may never ask. What else goes on until all are back is counted itself: messages, copies.
    if (self->reading->opened) self->reading->domain->rest(*self->reading);
    for (const loan_request& r : std::exchange(self->asked, {})) self->desk->serve(*self, r);
    self->desk->end_when_over(*self);
  });
  l->reading = open_task::submit(*d.domain, d, access_mode::read, "send", *l);
  l->kept = hetero_task(l->reading);
  auto share = std::make_shared<loan_share>(pe_.id(), l->number, loan_share::whole);
  loans_.emplace(l->number, std::move(l));
  return share;
}

void object_desk::lends_to_graph(std::uint64_t number, const object_of_graph& what) {
  loans_.at(number)->for_graph = what;
}

void object_desk::ask(const loan_request& r) {
  loan& l = *loans_.at(r.loan);
  if (l.told) {
    serve(l, r);
  } else {
    l.asked.push_back(r);
  }
}

void object_desk::serve(loan& l, const loan_request& r) {
  if (l.reading->opened && l.reading->order != nullptr) return serve_at_device(l, r);
  loan_answer a;
  a.arrival = r.arrival;
  if (l.reading->state == task_state::failed) {
    a.why_not = object_failure::of(l.reading->failure());
    // Who reads the object there is told.
    if (!l.for_graph) l.reading->domain->failures().see(l.reading->failure());
  } else if (pe_.rank().is_local(r.pe)) {
    a.at = l.reading->memory;
  } else {
    const std::uint64_t bytes = l.reading->use.data->bytes;
    if (pe_.mover->travels_packed(memory_kind::pinned, bytes)) {
      a.packed = object_parcel::packing(l.reading->memory, bytes);
    } else {
      const data_view from{l.reading->memory, bytes, memory_kind::pinned, -1};
      a.data = pe_.mover->send_whole(r.pe / pe_.rank().pes_per_rank, r.pe, from, leaving_copy::make(*this, l));
    }
  }
  pe_.send(r.pe, std::move(a), priorities::communication);
}

/// In a process the reader learns of the memory and of the point from which on the data are there. For another one,
/// small data are copied to the host and go along with the answer, others are offered once they are there.
void object_desk::serve_at_device(loan& l, const loan_request& r) {
  stream& s = *l.reading->order;
  const std::uint64_t bytes = l.reading->use.data->bytes;
  if (pe_.rank().is_local(r.pe)) {
    loan_answer a;
    a.arrival = r.arrival;
    a.at = l.reading->memory;
    a.on = &s.on();
    a.ready = s.record_for_others();
    return pe_.send(r.pe, std::move(a), priorities::communication);
  }
  lent_buffer lent = leaving_copy::make(*this, l);
  if (!pe_.mover->travels_packed(s.on().allocates(), bytes)) {
    return s.then("offer", [this, &s, r, held = std::move(lent)]() mutable {
      loan_answer a;
      a.arrival = r.arrival;
      a.data = pe_.mover->offer(s, std::move(held));
      a.offered = true;
      pe_.send(r.pe, std::move(a), priorities::communication);
    });
  }
  buffer<std::byte> staged(s.on(), bytes, memory_kind::pinned);
  s.copy(staged.data(), l.reading->memory, bytes);
  s.then_reading("send", [this, r, from = std::move(staged), held = std::move(lent)] {
    loan_answer a;
    a.arrival = r.arrival;
    a.packed = object_parcel::packing(from.data(), from.size());
    pe_.send(r.pe, std::move(a), priorities::communication);
  });
}

void object_desk::copy(const loan_copy& r) {
  loan& l = *loans_.at(r.loan);
  stream& s = *l.reading->order;
  s.copy(r.to, l.reading->memory, l.reading->use.data->bytes);
  s.then_reading("send", [this, r, held = leaving_copy::make(*this, l)] {
    pe_.send(r.pe, loan_copied{r.arrival}, priorities::communication);
  });
}

void object_desk::give_back(std::uint64_t number, std::uint64_t weight) {
  loan& l = *loans_.at(number);
  l.weight_out -= weight;
  end_when_over(l);
}

void object_desk::end_when_over(loan& l) {
  if (!l.told || l.weight_out > 0 || l.num_leaving > 0) return;
  if (!l.reading->over()) l.reading->end();
  loans_.erase(l.number);
}

}  // namespace imbrex::detail
