#include "imbrex/hetero/tasks/hetero_domain.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/hetero/tasks/eligibility.h"
#include "imbrex/hetero/tasks/task_stealing.h"

namespace imbrex {

namespace {
constexpr std::uint64_t cycles_in_a_turn = 200'000;  // about 60 microseconds; then messages have their turn
constexpr int issues_between_flushes = 16;
}  // namespace

struct hetero_domain::point_wait : lane_wait {
  task_node* of = nullptr;
};

void hetero_domain::dispatch() {
  if (dispatching_) return;
  dispatching_ = true;
  const std::uint64_t began = cycles();
  clock_interval_.begin(began);
  int started = 0;
  bool more = false;
  const auto turn_is_over = [&] {
    if (!clock_interval_.is_due()) return false;
    const std::uint64_t now = cycles();
    clock_interval_.looked(now);
    return now - began > cycles_in_a_turn;
  };
  do {
    changed_ = false;
    start_waiting_ones();
    for (auto next = policy_->pop(*this); next.task != nullptr; next = policy_->pop(*this)) {
      next.task->at = next.at;
      if (task_bundle::state* const b = next.task->bundle(); b != nullptr && b->at == nullptr) [[unlikely]]
        b->at = next.at;
      start(*next.task);
      if (++started % issues_between_flushes == 0) {
        for (const auto& p : places()) p->flush();
      }
      more = turn_is_over();
      if (more) break;
    }
    for (const auto& p : places()) p->flush();
    if (helpers_ != nullptr) {
      const int left = runnable_.size() - (leaves_host_tasks() ? 0 : 1);
      if (left > 0) helpers_->call(left);
      if (!leaves_host_tasks() && run_one_of_host()) {
        changed_ = true;
        more = cycles() - began > cycles_in_a_turn;
      }
    }
  } while (changed_ && !more);
  dispatching_ = false;
  if (more) wake_up();
}

/// Long tasks of the host, to other PEs: while this one runs any, devices that it feeds run dry.
bool hetero_domain::leaves_host_tasks() const {
  if (host_task_cycles_ < is_long_cycles || helpers_->num_pes() < 2) return false;
  return std::ranges::any_of(places(), [](const auto& p) { return !p->is_host() && p->num_tasks() > 0; });
}

/// False: there is none.
bool hetero_domain::run_one_of_host() {
  constexpr double part_of_news = 0.25;
  const host_tasks::taken part = runnable_.take();
  if (part.task == nullptr) return false;
  const std::uint64_t began = cycles();
  const std::int64_t began_ns = learns_ ? moment() : 0;
  if (run_anywhere(part) && (part.task->threw() || !part.task->stays_open())) close(*part.task);
  auto took = static_cast<double>(cycles() - began);
  if (learns_) {
    const std::int64_t now = moment();
    took = static_cast<double>(now - began_ns) * cycles_in_a_ns;
    if (took > is_long_cycles) looked_away_until_ns_ = now;
  }
  host_task_cycles_ += part_of_news * (took - host_task_cycles_);
  return true;
}

void hetero_domain::start_waiting_ones() {
  while (!doomed_.empty()) {
    task_node& t = *doomed_.take_first();
    t.state = task_state::failed;
    complete(t);
  }
  while (!gathered_.empty()) start(*gathered_.take_first());
  for (ready_list& waiting : short_of_memory_) {
    for (ready_list now = std::exchange(waiting, {}); !now.empty();) start(*now.take_first());
  }
  if (!unplaced_.empty()) start_unplaced_ones();
}

/// Those without a policy. Where a task waits for room, one that needs some stays behind it.
void hetero_domain::start_unplaced_ones() {
  task_node* before = nullptr;
  for (task_node* t = unplaced_.first(); t != nullptr;) {
    task_node* const next = t->next;
    place& p = choose_place(*t);
    if (!t->stays_open() && !short_of_memory_[static_cast<std::size_t>(p.number())].empty()) {
      before = t;
    } else {
      unplaced_.take_after(before);
      t->at = &p;
      start(*t);
    }
    t = next;
  }
}

void hetero_domain::start(task_node& t) {
  if (t.fault != task_fault::none) [[unlikely]] {  // it was cancelled since
    t.state = task_state::failed;
    return complete(t);
  }
  try {
    if (!gather(t)) return;
  } catch (...) {
    t.extras().failure = std::current_exception();
    t.fault = task_fault::own;
    t.state = task_state::failed;
    complete(t);
    return;
  }
  if (t.at->is_host()) {
    run_on_host(t);
  } else {
    run_on_device(t);
  }
}

/// True when the task can run, or be enqueued; else it will be started again.
bool hetero_domain::gather(task_node& t) {
  using outcome = hetero_copies::outcome;
  t.state = task_state::fetching;
  if (!t.pinned) {
    outcome o = copies_.pin(t, *t.at);
    if (o != outcome::done && is_by_next_use(t.placed)) o = pin_on_host(t);
    if (o == outcome::never) {
      throw out_of_memory(fmt::format("{}: {} has no room for its objects of {} bytes, though nothing else is there",
                                      text(t), copies_.full().name(), t.bytes()));
    }
    if (o == outcome::no_room) {
      short_of_memory_[static_cast<std::size_t>(copies_.full().number())].push(t);
      return false;
    }
  }
  if (copies_.bring(t) == outcome::later) {
    for (const lane_point& p : copies_.pending()) await(t, p);
  } else if (t.at->is_host()) {
    await_host_data(t);
  } else {
    if (t.placed == placed_by::policy && t.at->has_transfer_lanes()) await_large_data(t);
    for (const lane_point& p : t.after()) {
      if (!p.reached() && !t.at->in().can_wait_for(*p.of)) await(t, p);
    }
  }
  return t.num_blockers == 0;
}

/// What is received never waits for room: who sends it may hold the memory.
hetero_copies::outcome hetero_domain::pin_on_host(task_node& t) {
  t.at->pressed = !short_of_memory_[static_cast<std::size_t>(t.at->number())].empty();
  return copies_.pin(t, *places()[0]);
}

void hetero_domain::await_host_data(task_node& t) {
  for (task_access& a : t.uses()) {
    copies_.for_each_point_on_host(a, [&](const lane_point& p) { await(t, p); });
  }
  for (const lane_point& p : t.after()) await(t, p);
}

/// It would keep a lane from others that could run meanwhile.
void hetero_domain::await_large_data(task_node& t) {
  for (const task_access& a : t.uses()) {
    place& at = t.place_of(a);
    const lane_point& came = a.data->at(at.number()).written;
    const bool is_coming = came.of == &at.in() || came.of == &at.from_peers();
    if (reads(a.mode) && is_coming && at.link_from_host().is_large(a.data->bytes)) await(t, came);
  }
}

void hetero_domain::await(task_node& t, const lane_point& p) {
  if (p.reached()) return;
  auto* w = new (slab::allocate(sizeof(point_wait))) point_wait;
  w->of = &t;
  w->reached = [](lane_wait* a) {
    auto* self = static_cast<point_wait*>(a);
    task_node& waiting = *self->of;
    const bool is_abandoned = self->is_abandoned();
    slab::free(self);
    if (is_abandoned || --waiting.num_blockers > 0) return;
    --waiting.at->num_tasks_fetching;
    waiting.domain->gathered_.push(waiting);
  };
  if (t.num_blockers++ == 0) ++t.at->num_tasks_fetching;
  p.of->when_reached(p.number, w);
}

}  // namespace imbrex
