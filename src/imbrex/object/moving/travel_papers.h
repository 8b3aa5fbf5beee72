#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/collection/location.h"

namespace imbrex {

/// At the PE that an element left: it has arrived, and misses these broadcasts.
template <class Index>
struct arrival_notice {
  collection_id array;
  Index index{};
  std::uint64_t departure = 0;
  std::vector<broadcast_range> missing;

  void operator()(scheduler& pe) {
    array_part<Index>& part = *find_part<Index>(pe, array);
    part.broadcasts().complete_departure(part, departure, part.record(index), missing);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & departure & missing;
  }
};

/// What the runtime knows of an element and goes with it to its new PE, however the element itself travels: which
/// reductions it takes part in next, which broadcasts it has heard, which move this is.
template <class Index>
struct travel_papers {
  static constexpr bool is_single = std::is_same_v<Index, no_index>;

  collection_id array;
  Index index{};
  std::uint64_t epoch = 0;
  std::uint32_t next_reduction = 0;
  std::vector<std::pair<section_id, std::uint32_t>> section_reductions;
  pe_id from = no_pe;
  std::uint64_t departure = 0;
  broadcast_history history;

  /// Of `e`, which is about to leave `part`.
  static travel_papers of(array_part<Index>& part, element<Index>& e) {
    travel_papers t;
    t.array = part.id();
    t.index = e.index;
    t.epoch = ++e.epoch;
    t.from = part.pe().id();
    if constexpr (!is_single) {
      part.announce_change();
      part.count_move();
      t.next_reduction = e.next_reduction;
      if (e.extras) t.section_reductions = std::move(e.extras->section_reductions);
      t.departure = part.broadcasts().begin_departure();
      t.history = part.history_of(e);
    }
    return t;
  }

  /// The element's record on its new PE; `come` makes it present, and says whether it could. Then the PEs that have to
  /// know are told.
  template <class Come>
  bool arrive(scheduler& pe, array_part<Index>& part, Come come) {
    element<Index>& e = part.record(index);
    e.epoch = epoch;
    e.next_reduction = next_reduction;
    if constexpr (is_single) {
      if (!come(e)) return false;
    } else {
      if (e.extras || !section_reductions.empty()) e.more().section_reductions = std::move(section_reductions);
      part.count_move();
      arrival_notice<Index> notice{array, index, departure, part.compare_hearing(e, history)};
      if (!come(e)) return false;
      pe.send(from, std::move(notice), priorities::communication);
    }
    const pe_id home = part.home(index);
    if (home != pe.id())
      pe.send(home, location_update<Index>{array, index, pe.id(), epoch, false}, priorities::communication);
    return true;
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & epoch & next_reduction & section_reductions & from & departure & history;
  }
};

namespace detail {

/// Calls the hooks of a chare that has them.
template <class C>
void announce_move(scheduler& pe, element_base& e, pe_id to) {
  if constexpr (requires(C& c) { c.about_to_move(to); }) {
    const actor_turn turn(pe, &e);
    static_cast<C*>(e.object)->about_to_move(to);
  }
}
template <class C>
void tell_of_move(scheduler& pe, element_base& e, pe_id from) {
  if constexpr (requires(C& c) { c.has_moved(from); }) {
    const actor_turn turn(pe, &e);
    static_cast<C*>(e.object)->has_moved(from);
  }
}

}  // namespace detail

}  // namespace imbrex
