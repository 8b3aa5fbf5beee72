#include "imbrex/hetero/tasks/hetero_domain.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/async/pe_clock.h"
#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/hetero/graph/task_trace.h"
#include "imbrex/hetero/tasks/eligibility.h"
#include "imbrex/hetero/tasks/task_journal.h"
#include "imbrex/hetero/tasks/task_stealing.h"

namespace imbrex {

namespace {
/// Where the doings of the PE of this thread are recorded, if those of `home`, the task's, are; null: nowhere.
trace_track* track_here(const executor& home) {
  if (home.track == nullptr) [[likely]]
    return nullptr;
  const executor* const pe = executor::current();
  return pe != nullptr ? pe->track : nullptr;
}

void find_memory(const task_node& t, std::byte** memory) {
  const auto number = t.at->number();
  for (std::size_t i = 0; i < t.num_accesses; ++i) memory[i] = t.accesses[i].data->at(number).memory;
}
}  // namespace

std::int64_t hetero_domain::moment() { return clock::now().time_since_epoch().count(); }

void hetero_domain::note_begin_in_trace(const task_node& t, trace_track& track, const stream* order) {
  track.begin(t.wishes.name, order != nullptr ? trace_category::runtime : trace_category::kernel);
  if (order == nullptr && t.domain->trace_ != nullptr && &t.domain->pe_ == executor::current())
    t.domain->trace_->runs_here(t);
}

void hetero_domain::call(task_node& t, stream* order, const host_tasks::taken& part) {
  constexpr std::size_t few = 16;
  if (t.num_accesses > few) [[unlikely]] {
    std::vector<std::byte*> memory(t.num_accesses);
    find_memory(t, memory.data());
    call_with(t, order, part, memory);
  } else {
    std::byte* memory[few];
    find_memory(t, memory);
    call_with(t, order, part, {memory, t.num_accesses});
  }
}

void hetero_domain::call_with(task_node& t, stream* order, const host_tasks::taken& part,
                              std::span<std::byte* const> memory) {
  trace_track* const track = track_here(t.domain->pe_);
  if (track != nullptr) [[unlikely]]
    note_begin_in_trace(t, *track, order);
  if (executor* const here = executor::current(); here != nullptr) here->does(t.wishes.name);
  try {
    t.type->run(&t, task_call{t.at, order, memory, part.first_part, part.last_part});
  } catch (...) {
    if (part.last_part == 0 || !t.parts()->failed.exchange(true, std::memory_order_relaxed)) fail(t);
  }
  if (track != nullptr) [[unlikely]]
    track->end();
}

/// With the exception that is being handled: the task's failure is of its kind, and says where.
void hetero_domain::fail(task_node& t) {
  t.fault = task_fault::own;
  const auto failed = [&](std::string_view what) {
    return fmt::format("{}, failed on {}: {}", text(t), t.at->name(), what);
  };
  try {
    throw;
  } catch (const error& e) {
    try {
      throw_error(e.kind(), failed(e.what()));
    } catch (...) {
      t.extras().failure = std::current_exception();
    }
  } catch (const std::exception& e) {
    t.extras().failure = std::make_exception_ptr(remote_error(failed(e.what())));
  } catch (...) {
    t.extras().failure = std::make_exception_ptr(remote_error(failed("it threw what is no std::exception")));
  }
}

void hetero_domain::run_on_host(task_node& t) {
  t.state = task_state::issued;
  if (places().size() > 1) copies_.begun(t);
  if (helpers_ != nullptr && !t.stays_open()) {
    if (learns_) expect_host_task(t);
    runnable_.push(t);
  } else {
    run_own_host_task(t);
  }
}

/// What is not known may take long. Where this PE runs none, since they took long, it learns here that they are short.
void hetero_domain::expect_host_task(const task_node& t) {
  constexpr double part_of_news = 0.25;
  const double ns = policy_->expected_ns(t, *t.at);
  const double expected = ns < 0 ? is_long_cycles : ns * cycles_in_a_ns;
  const double change = expected - host_task_cycles_;
  host_task_cycles_ += change > 0 ? change : part_of_news * change;
}

void hetero_domain::run_own_host_task(task_node& t) {
  if (times_host_tasks()) t.extras().ran.began_ns = moment();
  call(t, nullptr);
  if (times_host_tasks()) t.extras().ran.ended_ns = moment();
  if (t.threw() || !t.stays_open()) close(t);
}

/// Part after part, more at a time each time, until what is left would take so long that it is worth the others' while:
/// how long is known from those that have run. False: others have the rest.
bool hetero_domain::run_or_share(task_node& t) {
  constexpr std::uint64_t worth_it = 60'000;  // cycles: to wake a PE and to bring it the data costs some microseconds
  const std::uint64_t began = t.domain->cycles();
  const std::size_t total = t.parts()->total;
  std::size_t done = 0;
  for (std::size_t step = 1; done < total; step *= 2) {
    const std::size_t end = std::min(total, done + step);
    call(t, nullptr, {&t, done, end});
    done = end;
    if (done == total || (t.domain->cycles() - began) / done * (total - done) < worth_it) continue;
    hetero_domain& home = *t.domain;
    home.helpers_->call(static_cast<int>(home.runnable_.share(t, done)) - 1);
    return false;
  }
  return true;
}

bool hetero_domain::run_anywhere(const host_tasks::taken& part) {
  task_node& t = *part.task;
  if (t.domain->times_host_tasks() && part.first_part == 0) t.extras().ran.began_ns = moment();
  if (t.parts() != nullptr && part.last_part == 0) {
    const bool all = run_or_share(t);
    if (all && t.domain->times_host_tasks()) t.extras().ran.ended_ns = moment();
    return all;
  }
  call(t, nullptr, part);
  const std::size_t num = part.last_part - part.first_part;
  const bool is_last = num == 0 || t.parts()->left.fetch_sub(num, std::memory_order_acq_rel) == num;
  if (is_last && t.domain->times_host_tasks()) t.extras().ran.ended_ns = moment();
  return is_last;
}

void hetero_domain::ended_elsewhere(task_node& t, task_journal* deeds) {
  try {
    if (deeds != nullptr) deeds->replay();
  } catch (...) {
    if (!t.threw()) fail(t);
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

}  // namespace imbrex
