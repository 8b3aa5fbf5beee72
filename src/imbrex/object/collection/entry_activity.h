#pragma once

#include <coroutine>
#include <new>
#include <utility>

#include "imbrex/async/activity.h"
#include "imbrex/async/task.h"
#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/object/collection/element.h"

namespace imbrex {

/// An entry method that is a coroutine, while it runs or waits. Owns the frame.
struct entry_activity : activity, ended_activity {
  /// Null: the main chare.
  element_base* element() const { return static_cast<element_base*>(const_cast<actor*>(of)); }
  std::coroutine_handle<> frame;
  reply_to reply;
  entry_activity* previous = nullptr;  // of the element (or, without one, of the PE)
  entry_activity* following = nullptr;
  /// Takes the result or exception out of the ended frame and answers, reports or drops it.
  void (*conclude)(scheduler& pe, entry_activity& a) = nullptr;

  /// Starts `t` as an activity of `e`; runs it until it first waits.
  template <class R>
  static void start(scheduler& pe, element_base* e, const char* name, task<R> t, const reply_to& reply,
                    void (*conclude)(scheduler& pe, entry_activity& a));

  /// Destroys the frame (and all that it awaits) and the activity itself.
  static void destroy(scheduler& pe, entry_activity* a);

 private:
  /// Its coroutine has ended: concludes, and destroys it.
  static void end(scheduler& pe, ended_activity& ended);
  entry_activity*& list(scheduler& pe) {
    return of != nullptr ? element()->activities : chare_pe::of(pe).first_activity;
  }
};

template <class R>
void entry_activity::start(scheduler& pe, element_base* e, const char* name, task<R> t, const reply_to& reply,
                           void (*conclude)(scheduler& pe, entry_activity& a)) {
  auto* a = new (slab::allocate(sizeof(entry_activity))) entry_activity;
  ++chare_pe::of(pe).num_activities;
  auto handle = t.release();
  a->name = name;
  a->of = e;
  a->frame = handle;
  a->reply = reply;
  a->conclude = conclude;
  a->on_end = [](activity* self) { scheduler::current().ended(*static_cast<entry_activity*>(self)); };
  a->see_to = &entry_activity::end;
  a->following = a->list(pe);
  if (a->following != nullptr) a->following->previous = a;
  a->list(pe) = a;
  handle.promise().root = a;
  activity* before = std::exchange(pe.running, a);
  pe.does(name);
  handle.resume();
  pe.running = before;
}

}  // namespace imbrex
