#pragma once

#include <type_traits>
#include <utility>

#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/collection/chare_pe.h"

/// Where elements are, and how what is for one of them finds it. An element has a home, which is computed from its
/// index
/// (`array_part::home`): there a search ends, since its home hears of insertions, moves and ends. Other PEs know where
/// it was last, and newer knowledge wins (`epoch`).
namespace imbrex {

/// Corrects what a PE believes about where an element lives.
template <class Index>
struct location_update {
  collection_id array;
  Index index{};
  pe_id where = no_pe;
  std::uint64_t epoch = 0;
  bool deleted = false;

  void operator()(scheduler& pe);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & where & epoch & deleted;
  }
};

/// Where what is for `e`, which does not live on this PE, goes next: another PE, or `no_pe` when this is its home and
/// it does not exist, or it is about to come to life here.
inline pe_id next_stop(const scheduler& pe, const element_base& e, pe_id home) {
  if (e.state == presence::awaited) return no_pe;
  if (e.where != pe.id()) return e.where;
  return home == pe.id() ? no_pe : home;
}

/// The same for element `index` of `array`, as far as this PE knows; also `no_pe` when it is here, or nothing is known
/// of the collection.
template <class Index>
pe_id next_stop(scheduler& pe, collection_id array, const Index& index) {
  array_part<Index>* const part = find_part<Index>(pe, array);
  if (part == nullptr) return no_pe;
  const pe_id home = part->home(index);
  const element<Index>* e = nullptr;
  if constexpr (std::is_same_v<Index, no_index>) {
    e = part->find(index);
    if (e == nullptr) return home != pe.id() ? home : no_pe;
  } else {
    e = &part->record(index);
  }
  return e->object != nullptr ? no_pe : next_stop(pe, *e, home);
}

/// With which a message goes on from PE to PE: its own, where it has one.
template <class Body>
priority priority_on_the_way(const Body& b) {
  if constexpr (requires { b.level; }) {
    return priority(b.level);
  } else {
    return priorities::communication;
  }
}

/// Sends `body`, which is for `e`, to the next PE on its way.
template <class Index, class Body>
void send_on(scheduler& pe, array_part<Index>& part, const element<Index>& e, pe_id next, Body&& body) {
  const priority p = priority_on_the_way(body);
  if constexpr (requires { body.leaves(pe, part, e, next); }) body.leaves(pe, part, e, next);
  pe.send(next, std::forward<Body>(body), p);
}
/// To where `e`, which does not live here, is; it is dropped when this is its home and it does not exist.
template <class Index, class Body>
void follow(scheduler& pe, array_part<Index>& part, const element<Index>& e, Body&& body) {
  const pe_id next = next_stop(pe, e, part.home(e.index));
  if (next != no_pe) send_on(pe, part, e, next, std::forward<Body>(body));
}

/// What is for `e`, which is not here, and goes no further.
template <class Index, class Body>
[[gnu::noinline]] void ends_here(scheduler& pe, array_part<Index>& part, element<Index>& e, Body& body) {
  if (e.state == presence::awaited) {
    part.hold(e, active_message<Body>::make(priority_on_the_way(body), std::move(body)));
  } else {
    body.nowhere(pe, part, &e);
  }
}

/// The one way on which all that is for an element (entry messages, channels' messages, moves, ends, insertions, missed
/// broadcasts) finds it. `body` names its `array` and `index`. Where the element lives, `body.at(pe, part, e)` is
/// called; at its home when it does not exist, `body.nowhere(pe, part, e)`, `e` null when nothing is known of a
/// singleton; it waits where a restart is bringing the element; from elsewhere it is sent on, after `body.leaves(pe,
/// part, e, next)` if it has that. Here: for a known array and record.
template <class Index, class Body>
[[gnu::always_inline]] inline void bring_to_element(scheduler& pe, array_part<Index>& part, element<Index>& e,
                                                    Body& body) {
  if (e.object != nullptr) [[likely]] {
    body.at(pe, part, e);
  } else if (const pe_id next = next_stop(pe, e, part.home(e.index)); next != no_pe) {
    send_on(pe, part, e, next, std::move(body));
  } else {
    ends_here(pe, part, e, body);
  }
}

/// Of a singleton that it does not have, a PE other than its home knows nothing.
template <class Body>
void bring_to_single(scheduler& pe, array_part<no_index>& part, Body& body) {
  element<no_index>* const e = part.find(body.index);
  if (e != nullptr) {
    bring_to_element(pe, part, *e, body);
  } else if (const pe_id home = part.home(body.index); home != pe.id()) {
    const priority p = priority_on_the_way(body);
    if constexpr (requires { body.leave_pe(); }) body.leave_pe();
    pe.send(home, std::move(body), p);
  } else {
    body.nowhere(pe, part, e);
  }
}

/// The same for whatever is known; waits for a collection that is not known here yet.
template <class Index, class Body>
[[gnu::always_inline]] inline void bring_to_element(scheduler& pe, Body& body) {
  array_part<Index>* const part = find_part<Index>(pe, body.array);
  if (part == nullptr) {
    chare_pe::of(pe).hold_for_collection(body.array, std::move(body));
    return;
  }
  if constexpr (std::is_same_v<Index, no_index>) {
    bring_to_single(pe, *part, body);
  } else {
    bring_to_element(pe, *part, part->record(body.index), body);
  }
}

template <class Index>
void location_update<Index>::operator()(scheduler& pe) {
  array_part<Index>* part = find_part<Index>(pe, array);
  if (part == nullptr) {
    chare_pe::of(pe).hold_for_collection(array, std::move(*this));
    return;
  }
  if constexpr (std::is_same_v<Index, no_index>) {
    if (part->find(index) == nullptr) return;
  }
  element<Index>& e = part->record(index);
  if (e.epoch > epoch || (e.object != nullptr && e.epoch == epoch)) return;
  if (e.object != nullptr) return;  // it has come here meanwhile; a newer message says so
  e.epoch = epoch;
  e.where = deleted ? part->home(index) : where;
  e.state = deleted ? presence::deleted : presence::elsewhere;
  part->release_held(e);
}

}  // namespace imbrex
