#include "imbrex/object/data/object_arrival.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/object/data/device_view.h"
#include "imbrex/object/data/object_loan.h"
#include "imbrex/pe/reply_impl.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex::detail {

void object_desk::fill(hetero_data& d, object_parcel from, const reply_to& reply) {
  grant(expect(d, reply), std::move(from));
}

std::uint64_t object_desk::expect(hetero_data& d, const reply_to& reply) {
  auto a = std::make_unique<arrival>();
  a->desk = this;
  a->number = ++last_number_;
  a->reply = reply;
  prepare(*a, [](work* w, work_action action) {
    if (action != work_action::run) return;
    auto* self = static_cast<arrival*>(w);
    self->told = true;
    self->desk->take_when_told(*self);
  });
  a->writing = open_task::submit(*d.domain, d, access_mode::write, "receive", *a, true);
  a->kept = hetero_task(a->writing);
  const std::uint64_t number = a->number;
  arrivals_.emplace(number, std::move(a));
  return number;
}

void object_desk::depends_on_graph(std::uint64_t number, const object_of_graph& what) {
  arrival& a = *arrivals_.at(number);
  a.from_graph = what;
  a.writing->domain->rest(*a.writing);
}

void object_desk::grant(std::uint64_t number, object_parcel from) {
  arrival& a = *arrivals_.at(number);
  a.parcel = std::move(from);
  if (const loan_share* s = a.parcel->share(); s != nullptr) {
    pe_.send(s->home(), loan_request{s->loan(), number, pe_.id()}, priorities::communication);
    a.writing->domain->rest(*a.writing);  // the request, what its lender waits for, and the answer are under way
  }
  take_when_told(a);
}

void object_desk::refuse(std::uint64_t number, const object_failure& why) {
  arrival& a = *arrivals_.at(number);
  a.why_not = why;
  take_when_told(a);
}

void object_desk::answered(loan_answer&& answer) {
  arrival& a = *arrivals_.at(answer.arrival);
  a.why_not = answer.why_not;
  a.answer = std::move(answer);
  take_when_told(a);
}

void object_desk::take_when_told(arrival& a) {
  if (a.under_way || !a.knows_source()) return;
  if (!std::exchange(a.let_go, true)) a.writing->let_go(a.answer && a.answer->from_device());
  if (a.told) take(a);
}

void object_desk::take(arrival& a) {
  if (a.writing->over()) return take_elsewhere(a);
  if (!a.why_not.kind.empty()) return finish(a, a.why_not);
  if (a.writing->use.data->bytes == 0) return finish(a);
  a.writing->order == nullptr ? take_on_host(a) : take_on_device(a);
}

void object_desk::take_on_host(arrival& a) {
  std::byte* const to = a.writing->memory;
  const std::uint64_t bytes = a.writing->use.data->bytes;
  if (const object_parcel* p = a.packed(); p != nullptr) {
    std::memcpy(to, p->bytes().data(), bytes);
    return finish(a);
  }
  if (a.answer->on != nullptr) return ask_for_copy(a, to);
  if (a.answer->at == nullptr) return fetch(a, to, memory_kind::pinned, nullptr);
  std::memcpy(to, a.answer->at, bytes);
  finish(a);
}

void object_desk::take_on_device(arrival& a) {
  stream& s = *a.writing->order;
  std::byte* const to = a.writing->memory;
  const std::uint64_t bytes = a.writing->use.data->bytes;
  if (const object_parcel* p = a.packed(); p != nullptr) {
    a.staged = buffer<std::byte>(s.on(), bytes, memory_kind::pinned);
    std::ranges::copy(p->bytes(), a.staged.data());
    s.copy(to, a.staged.data(), bytes);
    return finish(a);
  }
  const loan_answer& from = *a.answer;
  if (from.at != nullptr && from.on == nullptr) {
    s.copy(to, from.at, bytes);
  } else if (from.at != nullptr && s.on().reaches(*from.on)) {
    s.pull(from.ready, to, from.at, bytes);
  } else if (from.at != nullptr) {
    a.staged = buffer<std::byte>(s.on(), bytes, memory_kind::pinned);
    return ask_for_copy(a, a.staged.data());
  } else if (from.offered && s.on().kind() == device_kind::cuda && pe_.mover->reads_in_place(from.data)) {
    s.pull(event(), to, s.on().open(from.data.memory), bytes);
    release_after(from.data, s);
  } else {
    return fetch(a, to, s.on().allocates(), &s);
  }
  finish(a);
}

/// There was no room for them; what is sent all the same has to be received.
void object_desk::take_elsewhere(arrival& a) {
  if (!a.answer || a.answer->data.by == remote_data::path::none) return finish(a);
  const remote_data& d = a.answer->data;
  if (a.answer->offered) {
    pe_.send(d.pe, release_data{d.id}, priorities::communication);
    return finish(a);
  }
  auto nowhere = std::make_shared<aligned_bytes>(d.bytes);
  a.under_way = true;
  const data_view to{nowhere->data(), d.bytes, memory_kind::host, -1};
  pe_.mover->fetch(d, to, nullptr, [this, number = a.number, nowhere] { finish(*arrivals_.at(number)); });
}

void object_desk::ask_for_copy(arrival& a, std::byte* to) {
  a.under_way = true;
  const loan_share& from = *a.parcel->share();
  pe_.send(from.home(), loan_copy{from.loan(), a.number, pe_.id(), to}, priorities::communication);
}

void object_desk::copied(std::uint64_t number) {
  arrival& a = *arrivals_.at(number);
  if (a.staged.data() != nullptr) a.writing->order->copy(a.writing->memory, a.staged.data(), a.staged.size());
  finish(a);
}

void object_desk::fetch(arrival& a, std::byte* to, memory_kind kind, stream* in_order_of) {
  const remote_data& d = a.answer->data;
  a.under_way = true;
  const data_view where{to, d.bytes, kind, in_order_of != nullptr ? in_order_of->on().number() : -1};
  pe_.mover->fetch(d, where, in_order_of, [this, number = a.number] { finish(*arrivals_.at(number)); });
  if (a.answer->offered) {
    pe_.send(d.pe, pull_data{d.id, pe_.rank().rank, pe_.id()}, priorities::communication);
  }
}

namespace {
void answer(scheduler& pe, const reply_to& to, const object_failure& why) {
  outcome<std::monostate> done(std::in_place_index<0>);
  if (!why.kind.empty()) done.emplace<1>(failure{nullptr, why.kind, why.what});
  pe.send(to.pe, reply_body<void>{to, std::move(done)}, priorities::communication);
}
}  // namespace

/// At a device the data are in place when the stream comes here; until then the lender waits, and who waits for a put.
void object_desk::finish(arrival& a, const object_failure& why) {
  object_failure said = why;
  stream* const order = a.writing->over() ? nullptr : a.writing->order;
  if (a.writing->over()) {
    said = object_failure::of(a.writing->failure());
  } else if (said.kind.empty()) {
    a.writing->end();
  } else {
    a.writing->fail(said.thrown());
  }
  if (a.reply.wanted() && !said.kind.empty()) a.writing->domain->failures().see(a.writing->failure());
  if (order == nullptr) {
    if (a.reply.wanted()) answer(pe_, a.reply, said);
  } else {
    order->then("received", [this, said, reply = a.reply, parcel = std::move(a.parcel), staged = std::move(a.staged)] {
      if (reply.wanted()) answer(pe_, reply, said);
    });
  }
  arrivals_.erase(a.number);
}

}  // namespace imbrex::detail
