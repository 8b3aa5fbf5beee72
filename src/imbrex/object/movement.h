#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "imbrex/object/collection/element_state.h"
#include "imbrex/object/collection/entry_message.h"
#include "imbrex/object/construction.h"

/// How elements move from PE to PE: serialised, destroyed, default-constructed over there and read back.
namespace imbrex {

namespace detail {

template <class C>
inline constexpr bool is_movable = std::is_default_constructible_v<C> && has_member_serialize<C, sizing_archive>;

/// Throws `usage_error` when something of `e` cannot be taken along.
void check_movable(const collection& part, const element_base& e, pe_id to);
[[noreturn]] void refuse_move(const collection& part, const element_base& e, pe_id to);

}  // namespace detail

/// At the PE that an element left: it has arrived, and misses these broadcasts.
template <class Index>
struct arrival_notice {
  collection_id array;
  Index index{};
  std::uint64_t departure = 0;
  std::vector<broadcast_range> missing;

  void operator()(scheduler& pe) {
    array_part<Index>& part = *find_part<Index>(pe, array);
    part.broadcasts().complete_departure(pe, part, departure, part.record(index), missing);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & departure & missing;
  }
};

/// An element that moves, on its way.
template <class C>
struct arrive_body {
  using Index = typename C::index_type;
  static constexpr bool may_part = true;
  collection_id array;
  Index index{};
  std::uint64_t epoch = 0;
  std::uint32_t next_reduction = 0;
  std::vector<std::pair<section_id, std::uint32_t>> section_reductions;
  pe_id from = no_pe;
  std::uint64_t departure = 0;
  broadcast_history history;
  std::vector<std::byte> state;

  void operator()(scheduler& pe) {
    auto* part = find_part<Index>(pe, array);
    if (part == nullptr) {
      chare_pe::of(pe).hold_for_collection(array, std::move(*this));
      return;
    }
    element<Index>& e = part->record(index);
    e.epoch = epoch;
    e.next_reduction = next_reduction;
    if constexpr (std::is_same_v<Index, no_index>) {
      if (!detail::construct_element<C>(pe, *part, e, std::tuple<>{})) return;
    } else {
      e.more().section_reductions = std::move(section_reductions);
      part->count_move();
      arrival_notice<Index> notice{array, index, departure, part->compare_hearing(e, history)};
      if (!detail::construct_element<C>(pe, *part, e, std::tuple<>{})) return;
      pe.send(from, std::move(notice), priorities::communication);
    }
    {
      const actor_turn turn(pe, &e);
      detail::state_from_bytes(state, *static_cast<C*>(e.object));
    }
    const pe_id home = part->home(index);
    if (home != pe.id()) {
      pe.send(home, location_update<Index>{array, index, pe.id(), epoch, false}, priorities::communication);
    }
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & epoch & next_reduction & section_reductions & from & departure & history& beside(state);
  }
};

/// Moves an element, from its PE's loop.
template <class Index>
struct move_body {
  collection_id array;
  Index index{};
  pe_id to = no_pe;

  void operator()(scheduler& pe) { bring_to_element<Index>(pe, *this); }
  void at(scheduler& pe, array_part<Index>& part, element<Index>& e) {
    if (to == pe.id()) return;
    if (part.may_run(e)) {
      detail::check_movable(part, e, to);
      if (!wait_for_streams(pe, e, *this)) part.move(e, to);
    } else {
      part.hold(e, active_message<move_body>::make(priorities::communication, std::move(*this)));
    }
  }
  void nowhere(scheduler&, array_part<Index>&, element<Index>*) {}  // it has ended
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & to;
  }
};

namespace detail {

template <class C>
void move_element(array_part<typename C::index_type>& part, element<typename C::index_type>& e, pe_id to) {
  constexpr bool is_single = std::is_same_v<typename C::index_type, no_index>;
  scheduler& pe = part.pe();
  arrive_body<C> body;
  body.array = part.id();
  body.index = e.index;
  body.epoch = ++e.epoch;
  body.from = pe.id();
  if constexpr (!is_single) {
    part.announce_change();
    part.count_move();
    body.next_reduction = e.next_reduction;
    body.section_reductions = std::move(e.more().section_reductions);
    body.departure = part.broadcasts().begin_departure();
    body.history = part.history_of(e);
  }
  {
    const actor_turn turn(pe, &e);
    body.state = state_to_bytes(*static_cast<C*>(e.object));
  }
  part.becomes_absent(e, presence::elsewhere, to);
  pe.send(to, std::move(body), priorities::communication);
  if constexpr (is_single) {
    if (e.index.home != pe.id()) part.forget(e);  // its home knows
  }
}

}  // namespace detail

}  // namespace imbrex
