#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
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

/// For whom the PE works now, in messages: who asks for memory. The type of the chare that is being made, else the
/// entry method, task or function of a stream.
inline const char* name_of_doer(const executor& pe) {
  if (pe.constructing_type != nullptr) return pe.constructing_type;
  if (pe.running != nullptr) return pe.running->name;
  return pe.doing() != nullptr ? pe.doing() : "the runtime";
}

/// Brings work to an actor that has gone to another PE of the process, wherever it is by now.
struct work_route {
  work_route() = default;
  work_route(const work_route&) = delete;
  work_route& operator=(const work_route&) = delete;
  virtual ~work_route() = default;
  /// From a PE's loop. `w` is performed on the actor's PE while it lives there; it is discarded when it has ended.
  /// `counts`: it is a message, which quiescence counts when it is performed.
  virtual void carry(work* w, bool counts) const = 0;
};

/// An actor that is about to leave its PE, seen from what it waits for.
struct departure {
  virtual ~departure() = default;
  /// For what comes to this PE later for one of its waits.
  virtual std::shared_ptr<const work_route> route() = 0;
};

/// What is done with a wait whose coroutine goes to another PE of the process, as it is, while it waits. `leave` is
/// called on the PE that it leaves; then `arrive` on the other one, where it waits from now on.
struct wait_mobility {
  /// Whether that can be done now: false while the waiter stands in a queue, or while something that does not know of
  /// moves, such as a device, is about to resume it.
  bool (*may_leave)(const waiter&);
  void (*leave)(waiter&, departure&);
  void (*arrive)(waiter&);
  /// Whether the coroutine may be left out of a checkpoint here: whoever started it starts it again.
  bool is_checkpoint_point = false;
  /// Whether it may be ended here when its actor moves to another process: it is called again there.
  bool is_move_point = false;
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

  /// Notes that `h` waits here, on the calling PE. `what` describes the wait for a report, e.g. of a deadlock. Without
  /// `how_it_moves` the coroutine stays on its PE until it has been resumed.
  void suspend(std::coroutine_handle<> h, std::string (*what)(const waiter*),
               const wait_mobility* how_it_moves = nullptr) {
    handle = h;
    home = executor::current();
    describe = what;
    mobility = how_it_moves;
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

  /// \name While it waits, with all that its activity waits for, it goes from its PE to another one of the process
  ///@{
  bool may_leave() const { return mobility != nullptr && mobility->may_leave(*this); }
  void leave(departure& d) {
    if (home->track != nullptr) [[unlikely]]
      trace_end();
    mobility->leave(*this, d);
  }
  void arrive(executor& here) {
    home = &here;
    if (home->track != nullptr) [[unlikely]]
      trace_begin();
    mobility->arrive(*this);
  }
  ///@}

  /// Goes on right here; only from the PE's loop, while no other coroutine of the PE runs.
  void resume() {
    activity* a = owner;
    if (a != nullptr) unlink();
    executor* e = home;
    activity* before = e->running;
    e->running = a;
    if (a != nullptr) e->does(a->name);
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
  const wait_mobility* mobility = nullptr;

 private:
  // The frame that holds a waiter whose turn is discarded is destroyed with its activity: from now on it is in no
  // queue.
  static void resume_posted(work* w, work_action action) {
    auto* const self = static_cast<waiter*>(w);
    if (action == work_action::run) {
      if (self->home->before_resuming != nullptr && self->home->before_resuming(*self)) [[unlikely]]
        return;
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

/// Of one that is over, whose coroutine goes on at the new PE.
inline constexpr wait_mobility goes_on_there{[](const waiter&) { return true; }, [](waiter&, departure&) {},
                                             [](waiter& w) {
                                               w.mobility = nullptr;
                                               w.wake();
                                             }};

/// Of one for nothing but a move that was wished for.
inline constexpr wait_mobility at_move_point{goes_on_there.may_leave, goes_on_there.leave, goes_on_there.arrive, false,
                                             true};

/// Of a wait that only its chare knows of, or what goes with it.
inline constexpr wait_mobility moves_with_its_chare{[](const waiter&) { return true; }, [](waiter&, departure&) {},
                                                    [](waiter&) {}};

}  // namespace imbrex
