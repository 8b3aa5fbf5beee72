#include "imbrex/virtual_time/core/virtual_pe.h"

#include <time.h>

#include <algorithm>
#include <utility>

namespace imbrex {

namespace {
std::int64_t processor_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}
}  // namespace

virtual_pe::virtual_pe(simulation& all, scheduler& pe, const cpu_costs& costs, std::function<void()> become)
    : simulation_(all), pe_(pe), costs_(costs), become_(std::move(become)) {
  happen = [](timed_event& e) { static_cast<virtual_pe&>(e).turn(); };
  look_.of = this;
  look_.happen = [](timed_event& e) { static_cast<idle_look&>(e).of->look_when_idle(); };
  pe_.time = this;
  pe_.on_call = [](executor& e) {
    virtual_pe& me = virtual_pe::of(e);
    if (me.simulation_.is_over()) return;
    const executor* const caller = executor::current();
    if (caller == nullptr) return me.simulation_.called_from_elsewhere(me);
    me.simulation_.called.push_back(&me);
    virtual_pe& by = virtual_pe::of(*caller);
    if (by.costs_.measures) by.hand_over_posts();  // its clock moves on all the time
  };
  if (pe_.track != nullptr) pe_.track->take_time_from(*this);
}

void virtual_pe::begin() {
  simulation_.begins(*this);
  pe_.rest();
  have_turn(simulation_.now());
}

void virtual_pe::have_turn(std::int64_t when) {
  if (std::exchange(has_turn_, true) || has_stopped_) return;
  simulation_.at(std::max(when, clock_), *this);
}

std::int64_t virtual_pe::measured() const {
  if (measuring_since_ == 0) return 0;
  return static_cast<std::int64_t>(static_cast<double>(processor_ns() - measuring_since_) * costs_.slowdown);
}

void virtual_pe::begin_measuring() {
  if (costs_.measures) measuring_since_ = processor_ns();
}

void virtual_pe::end_measuring() {
  pay(pe_cost::own, measured());
  measuring_since_ = 0;
}

void virtual_pe::turn() {
  has_turn_ = false;
  if (has_stopped_) return;
  if (num_holds_ > 0 && num_wanted_ == 0) {
    wanted_while_held_ = true;
    return;
  }
  become_();
  clock_ = std::max(clock_, simulation_.now());
  if (std::exchange(is_idle_, false)) {
    simulation_.count(pe_cost::idle, clock_ - idle_since_);
    if (pe_.track != nullptr) pe_.track->idle_end(clock_);
    if (auto& asleep = pe_.rank().asleep; asleep != nullptr)
      asleep->withdraw(static_cast<std::size_t>(pe_.id() - pe_.rank().first_pe()));
  }
  pay(pe_cost::message, std::exchange(owed_, 0));
  pe_.collect_everything();
  if (pe_.has_ready()) pay(pe_cost::dispatch, costs_.dispatch_ns);
  begin_measuring();
  const std::int64_t began = clock_;
  pe_step did = pe_.step();
  // What it could take of other PEs' it takes when it is there: in another turn, where this one has computed.
  const bool may_help = pe_.rank().helpers == nullptr || (did != pe_step::helped && clock_ == began);
  if (!pe_.has_something() && did != pe_step::nothing && may_help) did = pe_.look();
  end_measuring();
  hand_over_posts();
  if (pe_.stopping()) {
    has_stopped_ = true;
    simulation_.stops(*this);
  } else if (pe_.has_something() || did != pe_step::nothing) {
    have_turn(clock_);
    pe_.rest();
  } else {
    rest();
  }
  executor::set_current(nullptr);
}

void virtual_pe::rest() {
  is_idle_ = true;
  idle_since_ = clock_;
  if (pe_.track != nullptr) pe_.track->idle_begin(clock_);
  if (auto& asleep = pe_.rank().asleep; asleep != nullptr)
    asleep->ask(static_cast<std::size_t>(pe_.id() - pe_.rank().first_pe()));
  pe_.rest();
  plan_look();
}

/// A look that was planned for later than it is wanted now counts for nothing.
void virtual_pe::plan_look() {
  if (pe_.next_idle_look() == INT64_MAX) return;
  const std::int64_t when = std::max(clock_ + 1, pe_.next_idle_look());
  if (look_at_ != 0 && look_at_ <= when) return;
  look_at_ = when;
  simulation_.at(when, look_);
}

// What is done only when nothing else is, e.g. looking whether all PEs are quiet.
void virtual_pe::look_when_idle() {
  if (simulation_.now() != look_at_) return;
  look_at_ = 0;
  if (!is_idle_ || has_stopped_) return;  // it comes again with the next rest
  become_();
  clock_ = std::max(clock_, simulation_.now());
  pe_.is_idle_since(idle_since_, clock_);
  hand_over_posts();
  if (pe_.has_something()) {
    have_turn(clock_);
  } else {
    plan_look();
  }
  executor::set_current(nullptr);
}

// What has been posted since the clock stood elsewhere goes to others of the process now, and comes to them after this.
void virtual_pe::hand_over_posts() {
  const std::int64_t when = std::max(now_ns(), simulation_.now()) + costs_.hand_over_ns;
  for (virtual_pe* const other : simulation_.called) {
    work* first = other->pe_.take_inbox();
    other->pe_.rest();
    if (first == nullptr) continue;
    simulation_.call_at(when, [other, first] {
      other->deliver([other, first] {
        for (work* w = first; w != nullptr;) {
          work* const following = w->next;
          other->pe_.post(w);
          w = following;
        }
      });
    });
  }
  simulation_.called.clear();
}

}  // namespace imbrex
