#include "imbrex/hetero/tasks/hetero_domain.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/slab.h"
#include "imbrex/hetero/coherence/slices.h"
#include "imbrex/hetero/graph/dependency.h"
#include "imbrex/hetero/tasks/eligibility.h"
#include "imbrex/hetero/tasks/recorded_window.h"
#include "imbrex/hetero/tasks/task_journal.h"
#include "imbrex/hetero/tasks/task_stealing.h"

namespace imbrex {

namespace {
constexpr int host_tasks_in_a_turn = 64;
constexpr std::uint64_t cycles_in_a_turn = 200'000;  // about 60 microseconds; then messages have their turn
constexpr int issues_between_flushes = 16;

/// Where the doings of the PE of this thread are recorded, if those of `home`, the task's, are; null: nowhere.
trace_track* track_here(const executor& home) {
  if (home.track == nullptr) [[likely]]
    return nullptr;
  const executor* const pe = executor::current();
  return pe != nullptr ? pe->track : nullptr;
}
}  // namespace

struct hetero_domain::point_wait : lane_arrival {
  task_node* of = nullptr;
};

hetero_domain::hetero_domain(executor& pe, device& host, const std::vector<device*>& devices,
                             const hetero_options& options)
    : hetero_domain(pe, host, devices, options, make_placement_policy(options.policy, options.costs)) {}

hetero_domain::hetero_domain(executor& pe, device& host, const std::vector<device*>& devices,
                             const hetero_options& options, std::unique_ptr<placement_policy> policy)
    : pe_(pe),
      options_(options),
      copies_(
          host, devices, options, [](void* d) { static_cast<hetero_domain*>(d)->wake_up(); }, this),
      policy_(std::move(policy)),
      timed_(policy_->learns()),
      short_of_memory_(places().size()) {
  if (options.compute_lanes < 1 || options.tasks_under_way < 1) {
    throw config_error(fmt::format("{} compute streams and {} tasks under way: a device needs at least one of each",
                                   options.compute_lanes, options.tasks_under_way));
  }
  turn_.owner = this;
  turn_.act = &turn::take;
  turn_.set_priority(priorities::normal);
}

hetero_domain& hetero_domain::current() {
  if (task_journal* const away = task_journal::current(); away != nullptr) return away->home();
  executor* const pe = executor::current();
  if (pe != nullptr && pe->tasks == nullptr && pe->open_tasks != nullptr) pe->open_tasks(*pe);
  if (pe == nullptr || pe->tasks == nullptr)
    throw usage_error("objects and tasks belong to a PE: make them in a chare's method, or name a domain");
  return *pe->tasks;
}

hetero_domain::~hetero_domain() {
  if (pe_.tasks == this) pe_.tasks = nullptr;
  if (helpers_ != nullptr) helpers_->offer(place_among_helpers_, nullptr);
  if (turn_posted_) pe_.withdraw(&turn_);
  if (num_in_progress_ > 0) --pe_.operations;
  for (const std::string& what : failures_.texts(1)) {
    pe_.fail("a task has failed, and nobody has awaited it before its domain ended: " + what);
  }
  for (const auto& p : places()) p->for_each_lane([](lane& l) { l.abandon(); });
  for (task_node* t = first_outstanding_; t != nullptr;) {
    task_node* const next = t->younger;
    drop(*t);
    t = next;
  }
}

void hetero_domain::drop(task_node& t) {
  t.state = task_state::failed;
  t.failure = std::make_exception_ptr(usage_error(text(t) + ": the job has ended before it could"));
  while (task_edge* const e = t.successors) {
    t.successors = e->next;
    free_edge(e);
  }
  unqueue_uses(t);
  release_uses(t);
  t.release();
}

void hetero_domain::release_uses(task_node& t) {
  for (const task_access& a : t.uses()) {
    --a.data->of_tasks;
    copies_.release(a.data);
  }
  t.num_accesses = 0;
}

void hetero_domain::turn::take(work* w, work_action action) {
  hetero_domain& d = *static_cast<turn*>(w)->owner;
  d.turn_posted_ = false;
  if (action == work_action::run) d.dispatch();
}

void hetero_domain::wake_up() {
  changed_ = true;
  if (dispatching_ || turn_posted_) return;
  turn_posted_ = true;
  pe_.post(&turn_);
}

// ------------------------------------------------------------------------------------------------ submission

void hetero_domain::check_uses(task_node& t) const {
  for (task_access& a : t.uses()) {
    if (a.data->domain != this) {
      throw usage_error(fmt::format("{}: an object of another PE: send it there in a message", text(t)));
    }
    if (a.data->stands_for != nullptr) [[unlikely]]
      a.data = a.data->stands_for;
    if (reads(a.mode) && !a.data->defined && !is_defined(*a.data)) [[unlikely]] {
      throw usage_error(
          fmt::format("{}: argument {} is read, but nobody has written it: submit what does before, or say "
                      "imbrex::write",
                      text(t), &a - t.accesses));
    }
    if (a.data->family != nullptr) {
      const std::string conflict = a.data->family->conflict(a);
      if (!conflict.empty()) throw usage_error(text(t) + ": " + conflict);
    }
  }
}

/// Tasks outside a window do not wait for recorded ones, which never run themselves, nor the other way round.
void hetero_domain::check_after(const task_node& t, std::span<const hetero_task> after) const {
  for (const hetero_task& h : after) {
    const task_node* const earlier = h.node();
    if (earlier == nullptr || earlier->domain == nullptr) {
      throw usage_error(fmt::format("task '{}' shall run after a task that was not submitted", t.wishes.name));
    }
    if (earlier->domain != this) {
      throw usage_error(fmt::format("task '{}' shall run after task '{}' of another PE: have that PE send a message",
                                    t.wishes.name, earlier->wishes.name));
    }
    if (!earlier->recorded && recording == nullptr) continue;
    const bool same = recording != nullptr && earlier->recorded && earlier->age <= recording->tasks.size() &&
                      recording->tasks[earlier->age - 1] == earlier;
    if (!same) {
      throw usage_error(
          fmt::format("task '{}' shall run after task '{}', but only one of them is part of a window: order them by an "
                      "object",
                      t.wishes.name, earlier->wishes.name));
    }
  }
}

void hetero_domain::submit(task_node* t, std::span<const hetero_task> after) {
  const bool is_here = executor::current() == &pe_;
  if (!is_here) [[unlikely]] {
    if (task_journal* const away = task_journal::current(); away != nullptr && &away->home() == this)
      return away->submit(*t, after);
  }
  t->domain = this;
  t->age = ++num_submitted_;
  ++t->references;
  try {
    if (!is_here) throw usage_error(text(*t) + " comes from another PE than its objects' own");
    if (!after.empty()) check_after(*t, after);
    if (recording != nullptr) [[unlikely]]
      return keep(*t, after);
    check_uses(*t);
    check_places(*t);
  } catch (...) {
    t->release();
    throw;
  }
  for (const task_access& a : t->uses()) ++a.data->references, ++a.data->of_tasks;
  ++num_outstanding_;
  if (t->num_blockers > 0) begin_progress(*t);  // somebody will let it go
  t->older = last_outstanding_;
  (last_outstanding_ != nullptr ? last_outstanding_->younger : first_outstanding_) = t;
  last_outstanding_ = t;
  for (const hetero_task& earlier : after) order_after(*t, *earlier.node(), failures_);
  queue_uses(*t, failures_);
  if (t->num_blockers == 0) make_ready(*t);
}

/// As part of the window that is being recorded.
void hetero_domain::keep(task_node& t, std::span<const hetero_task> after) {
  if (t.stays_open) throw usage_error(text(t) + " cannot be recorded: ask for it outside");
  for (const task_access& a : t.uses()) {
    if (a.data->domain != this) throw usage_error(text(t) + ": an object of another PE: send it there in a message");
  }
  for (task_access& a : t.uses()) a.data = a.data->itself();
  check_places(t);
  bool only_on_host = wanted(t, *places()[0]);
  for (const auto& p : places()) only_on_host &= p->is_host() || !wanted(t, *p);
  std::erase_if(recording->devices, [&](const place* p) { return !wanted(t, *p); });
  recording->keep(t, only_on_host);
  for (const hetero_task& earlier : after) recording->after.emplace_back(t.age, earlier.node()->age);
  t.release();
}

void hetero_domain::make_ready(task_node& t) {
  t.state = task_state::ready;
  if (!t.in_progress) begin_progress(t);
  if (t.sliced) [[unlikely]]
    poison_by_worthless_bytes(t, failures_);
  if (t.poisoned || t.placed != placed_by::policy) [[unlikely]] {
    keep_from_policy(t);
  } else {
    policy_->push(t);
  }
  wake_up();
}

[[gnu::noinline]] void hetero_domain::keep_from_policy(task_node& t) { (t.poisoned ? doomed_ : unplaced_).push(t); }

void hetero_domain::unblock(task_node& t) {
  if (--t.num_blockers == 0) make_ready(t);
}

void hetero_domain::release(task_node& t) {
  release_successors(t, failures_, [this](task_node& free) { make_ready(free); });
}

// ------------------------------------------------------------------------------------------------ starting

void hetero_domain::dispatch() {
  if (dispatching_) return;
  dispatching_ = true;
  const std::uint64_t began = cycle_count();
  int started = 0;
  bool more = false;
  do {
    changed_ = false;
    start_waiting_ones();
    for (auto next = policy_->pop(*this); next.task != nullptr; next = policy_->pop(*this)) {
      next.task->at = next.at;
      start(*next.task);
      if (++started % issues_between_flushes == 0) {
        for (const auto& p : places()) p->flush();
      }
      more = started % host_tasks_in_a_turn == 0 && cycle_count() - began > cycles_in_a_turn;
      if (more) break;
    }
    for (const auto& p : places()) p->flush();
    if (helpers_ != nullptr) {
      if (runnable_.size() > 1) helpers_->call(runnable_.size() - 1);
      if (const host_tasks::taken part = runnable_.take(); part.task != nullptr) {
        if (run_anywhere(part) && (part.task->threw || !part.task->stays_open)) close(*part.task);
        changed_ = true;
        more = cycle_count() - began > cycles_in_a_turn;
      }
    }
  } while (changed_ && !more);
  dispatching_ = false;
  if (more) wake_up();
}

void hetero_domain::start_waiting_ones() {
  while (!doomed_.empty()) {
    task_node& t = *doomed_.take_first();
    t.state = task_state::failed;
    complete(t);
  }
  while (!gathered_.empty()) start(*gathered_.take_first());
  for (task_node*& waiting : short_of_memory_) {
    if (waiting != nullptr) start(*std::exchange(waiting, nullptr));
  }
  if (!unplaced_.empty()) start_unplaced_ones();
}

/// Those without a policy. Where a task waits for room, one that needs some stays behind it.
void hetero_domain::start_unplaced_ones() {
  task_node* before = nullptr;
  for (task_node* t = unplaced_.first(); t != nullptr;) {
    task_node* const next = t->next;
    place& p = choose_place(*t);
    if (!t->stays_open && short_of_memory_[static_cast<std::size_t>(p.number())] != nullptr) {
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
  try {
    if (!gather(t)) return;
  } catch (...) {
    t.failure = std::current_exception();
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
    if (o != outcome::done && t.placed == placed_by::next_use) o = pin_on_host(t);
    if (o == outcome::never) {
      throw out_of_memory(fmt::format("{}: {} has no room for its objects of {} bytes, though nothing else is there",
                                      text(t), t.at->name(), t.bytes));
    }
    if (o == outcome::no_room) {
      short_of_memory_[static_cast<std::size_t>(t.at->number())] = &t;
      return false;
    }
  }
  if (copies_.bring(t, *t.at) == outcome::later) {
    for (const lane_point& p : copies_.pending()) await(t, p);
  } else if (t.at->is_host()) {
    await_host_data(t);
  } else {
    for (const lane_point& p : t.after) {
      if (!p.reached() && !t.at->in().can_wait_for(*p.of)) await(t, p);
    }
  }
  return t.num_blockers == 0;
}

/// What is received never waits for room: who sends it may hold the memory.
hetero_copies::outcome hetero_domain::pin_on_host(task_node& t) {
  t.at->pressed = short_of_memory_[static_cast<std::size_t>(t.at->number())] != nullptr;
  return copies_.pin(t, *places()[0]);
}

void hetero_domain::await_host_data(task_node& t) {
  for (task_access& a : t.uses()) {
    copies_.for_each_point_on_host(a, [&](const lane_point& p) { await(t, p); });
  }
  for (const lane_point& p : t.after) await(t, p);
}

void hetero_domain::await(task_node& t, const lane_point& p) {
  if (p.reached()) return;
  auto* w = new (slab::allocate(sizeof(point_wait))) point_wait;
  w->of = &t;
  w->arrived = [](lane_arrival* a) {
    auto* self = static_cast<point_wait*>(a);
    task_node& waiting = *self->of;
    const bool is_abandoned = self->is_abandoned();
    slab::free(self);
    if (!is_abandoned && --waiting.num_blockers == 0) waiting.domain->gathered_.push(waiting);
  };
  ++t.num_blockers;
  p.of->when_reached(p.number, w);
}

void hetero_domain::call(task_node& t, stream* order, const host_tasks::taken& part) {
  constexpr std::size_t few = 16;
  if (t.num_accesses > few) [[unlikely]] {
    std::vector<std::byte*> memory(t.num_accesses);
    call_with(t, order, part, memory.data());
  } else {
    std::byte* memory[few];
    call_with(t, order, part, memory);
  }
}

inline void hetero_domain::call_with(task_node& t, stream* order, const host_tasks::taken& part, std::byte** memory) {
  const auto number = t.at->number();
  for (std::size_t i = 0; i < t.num_accesses; ++i) memory[i] = t.accesses[i].data->at(number).memory;
  trace_track* const track = track_here(t.domain->pe_);
  if (track != nullptr) [[unlikely]]
    track->begin(t.wishes.name, order != nullptr ? trace_category::runtime : trace_category::kernel);
  try {
    t.run(&t, task_call{t.at, order, {memory, t.num_accesses}, part.first_part, part.last_part});
  } catch (...) {
    if (part.last_part == 0 || !t.parts->failed.exchange(true, std::memory_order_relaxed)) fail(t);
  }
  if (track != nullptr) [[unlikely]]
    track->end();
}

/// With the exception that is being handled: the task's failure is of its kind, and says where.
void hetero_domain::fail(task_node& t) {
  t.threw = true;
  const auto failed = [&](std::string_view what) {
    return fmt::format("{}, failed on {}: {}", text(t), t.at->name(), what);
  };
  try {
    throw;
  } catch (const error& e) {
    try {
      throw_error(e.kind(), failed(e.what()));
    } catch (...) {
      t.failure = std::current_exception();
    }
  } catch (const std::exception& e) {
    t.failure = std::make_exception_ptr(remote_error(failed(e.what())));
  } catch (...) {
    t.failure = std::make_exception_ptr(remote_error(failed("it threw what is no std::exception")));
  }
}

void hetero_domain::run_on_host(task_node& t) {
  t.state = task_state::issued;
  if (places().size() > 1) copies_.begun(t, *t.at);
  if (helpers_ != nullptr && !t.stays_open) {
    runnable_.push(t);
  } else {
    run_own_host_task(t);
  }
}

void hetero_domain::run_own_host_task(task_node& t) {
  if (timed_) t.started_ns = now_ns();
  call(t, nullptr);
  if (timed_) t.ended_ns = now_ns();
  if (t.threw || !t.stays_open) close(t);
}

/// Part after part, more at a time each time, until what is left would take so long that it is worth the others' while:
/// how long is known from those that have run. False: others have the rest.
bool hetero_domain::run_or_share(task_node& t) {
  constexpr std::uint64_t worth_it = 60'000;  // cycles: to wake a PE and to bring it the data costs some microseconds
  const std::uint64_t began = cycle_count();
  const std::size_t total = t.parts->total;
  std::size_t done = 0;
  for (std::size_t step = 1; done < total; step *= 2) {
    const std::size_t end = std::min(total, done + step);
    call(t, nullptr, {&t, done, end});
    done = end;
    if (done == total || (cycle_count() - began) / done * (total - done) < worth_it) continue;
    hetero_domain& home = *t.domain;
    home.helpers_->call(static_cast<int>(home.runnable_.share(t, done)) - 1);
    return false;
  }
  return true;
}

bool hetero_domain::run_anywhere(const host_tasks::taken& part) {
  task_node& t = *part.task;
  if (t.domain->timed_ && part.first_part == 0) t.started_ns = now_ns();
  if (t.parts != nullptr && part.last_part == 0) {
    const bool all = run_or_share(t);
    if (all && t.domain->timed_) t.ended_ns = now_ns();
    return all;
  }
  call(t, nullptr, part);
  const std::size_t num = part.last_part - part.first_part;
  const bool is_last = num == 0 || t.parts->left.fetch_sub(num, std::memory_order_acq_rel) == num;
  if (is_last && t.domain->timed_) t.ended_ns = now_ns();
  return is_last;
}

void hetero_domain::ended_elsewhere(task_node& t, task_journal* deeds) {
  try {
    if (deeds != nullptr) deeds->replay();
  } catch (...) {
    if (!t.threw) fail(t);
  }
  close(t);
  wake_up();
}

void hetero_domain::share_host_tasks(task_stealing& with, std::size_t place) {
  helpers_ = &with;
  place_among_helpers_ = place;
  runnable_.share_between(with.num_pes());
  with.offer(place, &runnable_);
}

void hetero_domain::close(task_node& t) {
  if (t.open_in != nullptr) {
    enqueued(t, *t.open_in);
    return wake_up();  // which tells the PE of the lane's end
  }
  copies_.used(t, *t.at, {});
  t.state = t.threw ? task_state::failed : task_state::done;
  complete(t);
}

/// Behind what it has to wait for, if that is in a lane of its own device, so that no event is needed.
lane& hetero_domain::choose_lane(task_node& t) const {
  place& p = *t.at;
  for (const task_access& a : t.uses()) {
    const lane_point& w = a.data->at(p.number()).written;
    if (w.reached() || w.of == &p.in() || w.of == &p.from_peers() || w.of == &p.out() || w.number != w.of->num_issued())
      continue;
    for (const auto& l : p.compute()) {
      if (l.get() == w.of) return *l;
    }
  }
  return p.next_compute();
}

void hetero_domain::run_on_device(task_node& t) {
  place& p = *t.at;
  lane& l = t.stays_open ? (writes(t.accesses[0].mode) ? p.in() : p.out()) : choose_lane(t);
  copies_.order(t, p, l);
  for (const lane_point& q : t.after) l.wait(q);
  if (t.stays_open) copies_.begun(t, p);
  if (timed_) note_begin(t, l);
  call(t, &*l);
  if (timed_) note_end(t, l);
  if (t.stays_open && !t.threw) {
    t.state = task_state::issued;
    t.open_in = &l;
    return;
  }
  enqueued(t, l);
}

/// The time a task takes is how long it keeps its place busy: from when its lane comes to it, that is when what stood
/// before it there is over and its data have come, but not while tasks of other lanes still end. So tasks that run at
/// once share the time, and the sum of those that wait is when the place will be free.
void hetero_domain::note_begin(task_node& t, lane& l) {
  l->then("a task begins", [h = hetero_task(&t)] { h.node()->started_ns = now_ns(); });
}

void hetero_domain::note_end(task_node& t, lane& l) {
  l->then("a task ends", [h = hetero_task(&t)] {
    task_node& ended = *h.node();
    ended.ended_ns = now_ns();
    ended.started_ns = std::max(ended.started_ns, std::exchange(ended.at->last_end_ns, ended.ended_ns));
  });
}

void hetero_domain::enqueued(task_node& t, lane& l) {
  t.end = l.put();
  copies_.used(t, *t.at, t.end);
  if (t.threw) {
    t.state = task_state::failed;
    complete(t);
    return;
  }
  t.state = task_state::issued;
  ++t.at->num_tasks_under_way;
  t.arrival.arrived = [](lane_arrival* a) {
    if (a->is_abandoned()) return;
    task_node& ended = *reinterpret_cast<task_node*>(reinterpret_cast<std::byte*>(a) - offsetof(task_node, arrival));
    --ended.at->num_tasks_under_way;
    ended.state = task_state::done;
    ended.domain->complete(ended);
  };
  l.when_reached(t.end.number, &t.arrival);
  release(t);
}

void hetero_domain::complete(task_node& t) {
  copies_.unpin(t);
  release(t);
  if (timed_ && t.ended_ns != 0 && !t.is_view) policy_->finished(t, t.ended_ns - t.started_ns);
  release_uses(t);
  ++copies_.counts().tasks;
  wake_waiting(t);
  (t.older != nullptr ? t.older->younger : first_outstanding_) = t.younger;
  (t.younger != nullptr ? t.younger->older : last_outstanding_) = t.older;
  --num_outstanding_;
  if (t.state == task_state::failed && !t.poisoned) [[unlikely]]
    failures_.add(t.failure);
  rest(t);
  changed_ = true;
  t.release();
}

}  // namespace imbrex
