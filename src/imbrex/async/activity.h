#pragma once

#include <coroutine>
#include <cstdint>
#include <string>
#include <utility>

#include "imbrex/async/actor.h"
#include "imbrex/async/executor.h"

/// What a coroutine that waits is, seen from the PE: who started the chain of coroutines (`activity`) and where
/// in it something waits (`waiter`). From these the runtime knows whom to resume, what to destroy at the end,
/// and what to say when nothing can ever happen again.
namespace imbrex {

struct waiter;

/// The root of a chain of coroutines: an entry method that may wait. The object layer derives from it.
struct activity {
  const char* name = "";      ///< of the entry method, for traces; static lifetime
  const actor* of = nullptr;  ///< whose code it is; null: nobody's, such as the main chare's
  waiter* first_waiter = nullptr;
  /// Called when the outermost coroutine has ended (its frame still exists). On the PE's thread.
  void (*on_end)(activity*) = nullptr;
};

/// One suspended place. Lives inside an awaiter, that is in a coroutine frame. Resumed by its PE's loop and by
/// nobody else. Destroying it while it waits takes it out of its activity's list.
struct waiter : work {
  waiter() = default;
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;
  ~waiter() {
    if (owner != nullptr) unlink();
  }

  /// Notes that `h` waits here, on the calling PE. `what` describes the wait for a report, e.g. of a deadlock.
  void suspend(std::coroutine_handle<> h, std::string (*what)(const waiter*)) {
    handle = h;
    home = executor::current();
    describe = what;
    act = &waiter::resume_posted;
    level = static_cast<std::int8_t>(priorities::communication.value);
    owner = home->running;
    if (owner != nullptr) link();
  }

  /// Takes back `suspend`: what was waited for had happened meanwhile.
  void cancel() {
    if (owner != nullptr) unlink();
  }

  /// Queues the coroutine to go on, from any thread. Once only.
  void wake() { home->post(this); }

  /// Goes on right here; only from the PE's loop, while no other coroutine of the PE runs.
  void resume() {
    activity* a = owner;
    if (a != nullptr) unlink();
    executor* e = home;
    activity* before = e->running;
    e->running = a;
    const actor_turn turn(*e, a != nullptr ? a->of : nullptr);
    trace_track* const track = a != nullptr ? e->track : nullptr;
    if (track != nullptr) [[unlikely]]
      track->begin(a->name, trace_category::entry);
    std::exchange(handle, nullptr).resume();  // may destroy *this
    if (track != nullptr) [[unlikely]]
      track->end();
    e->running = before;
  }

  std::coroutine_handle<> handle;
  executor* home = nullptr;
  activity* owner = nullptr;
  waiter* previous = nullptr;
  waiter* following = nullptr;
  std::string (*describe)(const waiter*) = nullptr;

 private:
  // The frame that holds a waiter whose turn is discarded is destroyed with its activity: from now on it is in no
  // queue.
  static void resume_posted(work* w, work_action action) {
    auto* const self = static_cast<waiter*>(w);
    if (action == work_action::run) {
      self->resume();
    } else {
      self->handle = nullptr;
    }
  }

  void link() {
    previous = nullptr;
    following = owner->first_waiter;
    if (following != nullptr) following->previous = this;
    owner->first_waiter = this;
    if (home->track != nullptr) [[unlikely]]
      trace_begin();
  }
  void unlink() {
    if (home->track != nullptr) [[unlikely]]
      trace_end();
    if (previous != nullptr) {
      previous->following = following;
    } else {
      owner->first_waiter = following;
    }
    if (following != nullptr) following->previous = previous;
    owner = nullptr;
  }
  [[gnu::cold, gnu::noinline]] void trace_begin() const { home->track->wait_begin(owner->name, this); }
  [[gnu::cold, gnu::noinline]] void trace_end() const { home->track->wait_end(owner->name, this); }
};

}  // namespace imbrex
