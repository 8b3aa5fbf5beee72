#pragma once

#include "imbrex/object/entry/slot_queue.h"

namespace imbrex::detail {

/// An entry slot of chares of class C to which some part of the program sends. All of a class are known before main
/// begins.
template <class C>
struct known_slot {
  const char* name = nullptr;  ///< "block::arrived"
  slot_queue& (*queue)(C&) = nullptr;
  const known_slot* following = nullptr;

  static inline constinit const known_slot* first = nullptr;
};

/// Makes it known: whoever sends to it names `one`.
template <class C, auto Slot>
struct slot_registration : known_slot<C> {
  explicit slot_registration(const char* called) {
    this->name = called;
    this->queue = [](C& object) -> slot_queue& { return queue_of(object.*Slot); };
    this->following = known_slot<C>::first;
    known_slot<C>::first = this;
  }
};
template <class E>
struct registered_slot {
  static inline const slot_registration<typename E::chare_type, E::method> one{E::name()};
};

/// A new object's slots are called by their names, not by their types.
template <class C>
void name_slots(C& object) {
  for (const known_slot<C>* s = known_slot<C>::first; s != nullptr; s = s->following)
    s->queue(object).is_called(s->name);
}

}  // namespace imbrex::detail
