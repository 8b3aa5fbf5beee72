#include "imbrex/hetero/submission/process_domain.h"

#include <new>
#include <string>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"

namespace imbrex {

namespace {

executor& first_of_process(executor& pe) {
  executor* const first = pe.pe_of_process != nullptr ? pe.pe_of_process(pe, 0) : nullptr;
  return first != nullptr ? *first : pe;
}

/// The calling PE uses objects of others from now on. From its loop.
void begin_visits() {
  executor& pe = *executor::current();
  pe.visits = &task_journal::of_visitors();
  if (executor::journal() == nullptr) executor::set_journal(pe.visits);
}

template <class F>
work* urgent_errand(F f) {
  work* const w = errand<F>::make(std::move(f));
  w->set_priority(priorities::system);
  return w;
}

/// ... and so do all others; the last that has been told has the first PE open its domain.
void tell_all(hetero_domain& d) {
  executor& first = d.pe();
  visit_queue& visits = d.prepare_visits();
  int num_others = 0;
  while (first.pe_of_process != nullptr &&
         first.pe_of_process(first, static_cast<std::size_t>(num_others) + 1) != nullptr)
    ++num_others;
  if (num_others == 0) return visits.open();
  visits.num_untold.store(num_others, std::memory_order_relaxed);
  for (int i = 1; i <= num_others; ++i) {
    auto* const note = urgent_errand([&first, &visits] {
      begin_visits();
      if (visits.num_untold.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
      first.post(urgent_errand([&visits] { visits.open(); }));
    });
    first.pe_of_process(first, static_cast<std::size_t>(i))->post(note);
  }
}

}  // namespace

/// Goes to the first PE and comes back, even when the job ends meanwhile: the coroutine knows it.
struct process_domain::request : work {
  executor* asker = nullptr;
  process_domain* who = nullptr;
  hetero_domain* domain = nullptr;

  static void at_first(work* w, work_action action) {
    auto& self = *static_cast<request*>(w);
    self.act = &go_back;
    if (action != work_action::run) return self.act(w, action);
    self.domain = &hetero_domain::current();
    if (self.domain->visits() != nullptr) return self.act(w, action);
    visit_queue& visits = self.domain->prepare_visits();
    const bool is_told = visits.has_waiting();
    visits.keep_until_open(w);
    if (!is_told) tell_all(*self.domain);
  }
  /// At the end of the job, when the first PE's domain ends, it has nowhere to go.
  static void go_back(work* w, work_action action) {
    auto& self = *static_cast<request*>(w);
    self.act = &come_back;
    if (action == work_action::discard && self.who == nullptr) return come_back(w, action);
    self.asker->post(w);
  }
  static void come_back(work* w, work_action action) {
    auto* const self = static_cast<request*>(w);
    process_domain* const who = self->who;
    hetero_domain* const domain = self->domain;
    --self->asker->operations;
    self->~request();
    slab::free(self);
    if (who == nullptr) return;
    who->domain_ = domain;
    who->asked_ = nullptr;
    who->act(who, action);
  }
};

bool process_domain::await_ready() {
  executor* const pe = executor::current();
  if (pe == nullptr) throw usage_error("the domain of the process was asked for where there is no PE: ask in a chare");
  if (&first_of_process(*pe) != pe) return false;
  domain_ = &hetero_domain::current();
  return domain_->visits() != nullptr;
}

void process_domain::await_suspend(std::coroutine_handle<> h) {
  suspend(h, [](const waiter*) { return std::string("the domain of the process"); });
  asked_ = new (slab::allocate(sizeof(request))) request;
  asked_->asker = home;
  asked_->who = this;
  asked_->act = &request::at_first;
  asked_->set_priority(priorities::communication);
  ++home->operations;
  first_of_process(*home).post(asked_);
}

hetero_domain& process_domain::await_resume() {
  handle = nullptr;
  return *domain_;
}

process_domain::~process_domain() {
  if (asked_ != nullptr) asked_->who = nullptr;
}

// ------------------------------------------------------------------------------------------------ references

namespace detail {

namespace {
/// Also of who has heard of objects of other PEs by this one's message alone.
task_journal& journal() {
  task_journal* const j = task_journal::current();
  return j != nullptr ? *j : task_journal::of_visitors();
}
}  // namespace

void hold_anywhere(hetero_data& d) {
  if (d.domain->visits() == nullptr) {
    throw usage_error(
        "a reference to an object that other PEs cannot use: make the object with a domain of imbrex::process_domain");
  }
  journal().hold(d);
}

void give_up_anywhere(hetero_data& d) { journal().give_up(d); }

void visit(const hetero_data& d) {
  executor* const pe = executor::current();
  if (pe != nullptr && pe != &d.domain->pe() && pe->visits == nullptr) begin_visits();
}

void refuse_to_leave_process() {
  throw usage_error(
      "an object_reference was sent to another process: send the object, which arrives as one of the receiver's");
}

}  // namespace detail

}  // namespace imbrex
