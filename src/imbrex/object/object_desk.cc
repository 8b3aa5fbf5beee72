#include "imbrex/object/object_desk.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/hetero_domain.h"
#include "imbrex/hetero/open_task.h"
#include "imbrex/object/reply_impl.h"
#include "imbrex/object/scheduler.h"

namespace imbrex::detail {

namespace {
constexpr std::uint64_t packed_in_a_process = 4096;

/// So that it is told of a task by a piece of work of this PE.
void prepare(waiter& told, void (*act)(work*, work_action)) {
  told.home = executor::current();
  told.act = act;
  told.set_priority(priorities::communication);
}
}  // namespace

object_failure object_failure::of(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (const error& x) {
    return {x.kind(), x.what()};
  } catch (const std::exception& x) {
    return {"remote", x.what()};
  } catch (...) {
    return {"remote", "an exception that is no std::exception"};
  }
}

std::exception_ptr object_failure::thrown() const {
  try {
    throw_error(kind, what);
  } catch (...) {
    return std::current_exception();
  }
}

loan_share::~loan_share() {
  scheduler* const pe = scheduler::current_or_null();
  const std::uint64_t weight = weight_.load(std::memory_order_relaxed);
  if (pe == nullptr || pe->stopping() || weight == 0) return;
  pe->send(home_, loan_return{loan_, weight}, priorities::communication);
}

std::uint64_t loan_share::split() {
  std::uint64_t all = weight_.load(std::memory_order_relaxed);
  do {
    if (all < 2) throw comm_error("an object's message was passed on from process to process too often");
  } while (!weight_.compare_exchange_weak(all, all - all / 2, std::memory_order_relaxed));
  return all / 2;
}

object_parcel object_parcel::of(hetero_data& d) {
  scheduler& pe = scheduler::current();
  if (d.domain != pe.tasks) throw usage_error("an object of another PE was sent: its own PE has to do that");
  object_parcel p;
  const bool is_small =
      pe.mover != nullptr ? pe.mover->travels_packed(memory_kind::pinned, d.bytes) : d.bytes <= packed_in_a_process;
  if (d.bytes == 0) {
    p = packing(nullptr, 0);
  } else if (is_small && is_ready_on_host(d)) {
    p = packing(d.at(0).memory, d.bytes);
  } else {
    p.share_ = object_desk::of(pe).lend(d);
  }
  return p;
}

void loan_request::operator()(scheduler& at) const { object_desk::of(at).ask(*this); }
void loan_answer::operator()(scheduler& pe) { object_desk::of(pe).answered(std::move(*this)); }
void loan_return::operator()(scheduler& at) const { object_desk::of(at).give_back(loan, weight); }

// ------------------------------------------------------------------------------------------------ lending

struct object_desk::loan : waiter {
  object_desk* desk = nullptr;
  std::uint64_t number = 0;
  open_task* reading = nullptr;
  hetero_task kept;
  std::uint64_t weight_out = loan_share::whole;
  int num_leaving = 0;  ///< copies that the transport still reads
  bool told = false;
  std::vector<loan_request> asked;
};

/// What the transport reads; its end tells the loan.
struct object_desk::leaving_copy : lent_state {
  object_desk* desk = nullptr;
  std::uint64_t number = 0;

  static lent_buffer make(object_desk& desk, loan& l, const hetero_data& d) {
    auto* s = new (slab::allocate(sizeof(leaving_copy))) leaving_copy;
    s->home = executor::current();
    s->act = &leaving_copy::come;
    s->set_priority(priorities::communication);
    s->references = 1;
    s->desk = &desk;
    s->number = l.number;
    ++s->home->operations;
    ++l.num_leaving;
    return {l.reading->memory, d.bytes, s};
  }
  static void come(work* w, work_action action) {
    auto* s = static_cast<leaving_copy*>(w);
    --s->home->operations;
    if (action == work_action::run) {
      loan& l = *s->desk->loans_.at(s->number);
      --l.num_leaving;
      s->desk->settle(l);
    }
    s->release();
  }
};

object_desk::object_desk(scheduler& pe) : pe_(pe) {}

object_desk::~object_desk() {
  for (const auto& [number, d] : exposed_) d->domain->copies().release(d);
}

object_desk& object_desk::of(scheduler& pe) {
  if (pe.objects == nullptr) pe.objects = std::make_unique<object_desk>(pe);
  return *pe.objects;
}

std::shared_ptr<loan_share> object_desk::lend(hetero_data& d) {
  auto l = std::make_unique<loan>();
  l->desk = this;
  l->number = ++last_number_;
  prepare(*l, [](work* w, work_action action) {
    if (action != work_action::run) return;
    auto* self = static_cast<loan*>(w);
    self->told = true;
    for (const loan_request& r : std::exchange(self->asked, {})) self->desk->serve(*self, r);
    self->desk->settle(*self);
  });
  l->reading = open_task::submit(*d.domain, d, access_mode::read, "send", *l);
  l->kept = hetero_task(l->reading);
  auto share = std::make_shared<loan_share>(pe_.id(), l->number, loan_share::whole);
  loans_.emplace(l->number, std::move(l));
  return share;
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
  loan_answer a;
  a.arrival = r.arrival;
  if (l.reading->state == task_state::failed) {
    a.why_not = object_failure::of(l.reading->failure);
  } else if (pe_.rank().is_local(r.pe)) {
    a.at = l.reading->memory;
  } else {
    const hetero_data& d = *l.reading->use.data;
    if (pe_.mover->travels_packed(memory_kind::pinned, d.bytes)) {
      a.packed = object_parcel::packing(l.reading->memory, d.bytes);
    } else {
      const data_view from{l.reading->memory, d.bytes, memory_kind::pinned, -1};
      a.data = pe_.mover->send_whole(r.pe / pe_.rank().pes_per_rank, r.pe, from, leaving_copy::make(*this, l, d));
    }
  }
  pe_.send(r.pe, std::move(a), priorities::communication);
}

void object_desk::give_back(std::uint64_t number, std::uint64_t weight) {
  loan& l = *loans_.at(number);
  l.weight_out -= weight;
  settle(l);
}

void object_desk::settle(loan& l) {
  if (!l.told || l.weight_out > 0 || l.num_leaving > 0) return;
  if (!l.reading->over()) l.reading->end();
  loans_.erase(l.number);
}

// ------------------------------------------------------------------------------------------------ arriving

struct object_desk::arrival : waiter {
  object_desk* desk = nullptr;
  std::uint64_t number = 0;
  open_task* writing = nullptr;
  hetero_task kept;
  reply_to reply;
  std::optional<object_parcel> parcel;  ///< none: it is not granted yet
  std::optional<loan_answer> answer;
  object_failure why_not;
  bool told = false;
  bool under_way = false;  ///< the transport writes
};

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
    self->desk->settle(*self);
  });
  a->writing = open_task::submit(*d.domain, d, access_mode::write, "receive", *a);
  a->kept = hetero_task(a->writing);
  const std::uint64_t number = a->number;
  arrivals_.emplace(number, std::move(a));
  return number;
}

void object_desk::grant(std::uint64_t number, object_parcel from) {
  arrival& a = *arrivals_.at(number);
  a.parcel = std::move(from);
  if (const loan_share* s = a.parcel->share(); s != nullptr) {
    pe_.send(s->home(), loan_request{s->loan(), number, pe_.id()}, priorities::communication);
  }
  settle(a);
}

void object_desk::refuse(std::uint64_t number, const object_failure& why) {
  arrival& a = *arrivals_.at(number);
  a.why_not = why;
  settle(a);
}

void object_desk::answered(loan_answer&& answer) {
  arrival& a = *arrivals_.at(answer.arrival);
  a.why_not = answer.why_not;
  a.answer = std::move(answer);
  settle(a);
}

void object_desk::settle(arrival& a) {
  if (!a.told || a.under_way) return;
  if (!a.why_not.kind.empty()) return finish(a, a.why_not);
  if (!a.parcel) return;
  if (a.parcel->is_packed()) return take(a, a.parcel->bytes().data());
  if (!a.answer) return;
  if (a.answer->at != nullptr) return take(a, a.answer->at);
  if (a.answer->packed.is_packed()) return take(a, a.answer->packed.bytes().data());
  // If there was no room for them, the data have to be taken all the same.
  auto nowhere = std::make_shared<aligned_bytes>(a.writing->over() ? a.answer->data.bytes : 0);
  const data_view to{a.writing->over() ? nowhere->data() : a.writing->memory, a.answer->data.bytes, memory_kind::pinned,
                     -1};
  a.under_way = true;
  pe_.mover->fetch(a.answer->data, to, nullptr, [this, number = a.number, nowhere] { finish(*arrivals_.at(number)); });
}

void object_desk::take(arrival& a, const std::byte* from) {
  if (!a.writing->over() && a.writing->use.data->bytes > 0) {
    std::memcpy(a.writing->memory, from, a.writing->use.data->bytes);
  }
  finish(a);
}

void object_desk::finish(arrival& a, const object_failure& why) {
  object_failure said = why;
  if (a.writing->over()) {
    said = object_failure::of(a.writing->failure);
  } else if (said.kind.empty()) {
    a.writing->end();
  } else {
    a.writing->fail(said.thrown());
  }
  if (a.reply.wanted()) {
    outcome<std::monostate> done(std::in_place_index<0>);
    if (!said.kind.empty()) done.emplace<1>(failure{nullptr, said.kind, said.what});
    pe_.send(a.reply.pe, reply_body<void>{a.reply, std::move(done)}, priorities::communication);
  }
  arrivals_.erase(a.number);
}

// ------------------------------------------------------------------------------------------------ exposing

std::uint64_t object_desk::expose(hetero_data& d) {
  if (d.domain != pe_.tasks) throw usage_error("an object of another PE cannot be exposed here");
  forget_dead_exposures();
  const auto found = numbers_.find(&d);
  if (found != numbers_.end()) return found->second;
  const std::uint64_t number = ++last_number_;
  ++d.references;
  exposed_.emplace(number, &d);
  numbers_.emplace(&d, number);
  return number;
}

hetero_data& object_desk::find(std::uint64_t exposure) {
  forget_dead_exposures();
  const auto found = exposed_.find(exposure);
  if (found == exposed_.end()) {
    throw usage_error(
        fmt::format("a put to or a get from object {} of PE {}, which does not exist any more: "
                    "keep a handle of it there as long as others use it",
                    exposure, pe_.id()));
  }
  return *found->second;
}

std::uint64_t object_desk::number_of(const hetero_data& d) const {
  const auto found = numbers_.find(&d);
  return found == numbers_.end() ? 0 : found->second;
}

void object_desk::forget_dead_exposures() {
  for (auto e = exposed_.begin(); e != exposed_.end();) {
    hetero_data* const d = e->second;
    if (d->references > 1) {
      ++e;
      continue;
    }
    numbers_.erase(d);
    e = exposed_.erase(e);
    d->domain->copies().release(d);
  }
}

}  // namespace imbrex::detail
