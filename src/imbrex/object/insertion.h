#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include "imbrex/object/collection/construction.h"
#include "imbrex/object/collection/entry_message.h"
#include "imbrex/object/collection/head_count.h"
#include "imbrex/object/seeds/seed_pool.h"

/// How single elements come to be and end while the program runs.
namespace imbrex {

/// A new element. Goes to where the index is claimed: its home, or the element that has it already; then to its PE. It
/// does not run before it is counted in (`head_count`).
template <class C, class... Args>
struct insert_body {
  using Index = typename C::index_type;
  collection_id array;
  Index index{};
  pe_id where = no_pe;     ///< its PE; none: its home
  bool if_absent = false;  ///< one that exists is as good
  reply_to reply;
  std::tuple<Args...> args;
  broadcast_history history;  ///< of the PE that inserts it: broadcasts that it does not hear
  std::uint64_t epoch = 0;    ///< once the index is claimed

  void operator()(scheduler& pe) {
    auto* part = find_part<Index>(pe, array);
    if (part == nullptr) {
      chare_pe::of(pe).hold_for_collection(array, std::move(*this));
      return;
    }
    if (detail::waits_for_arrays(pe, *this, args)) return;
    element<Index>* e = nullptr;
    try {
      e = &part->record(index);
    } catch (const usage_error& no) {
      refuse<void>(pe, reply, "an element could not be inserted: " + part->with_remedy(no.what()));
      return;
    }
    if (epoch != 0 && e->object == nullptr) {
      make(pe, *part, *e);
    } else {
      bring_to_element(pe, *part, *e, *this);
    }
  }
  /// It may be about to end: waits for that as long as anything can happen.
  void at(scheduler& pe, array_part<Index>& part, element<Index>& e) {
    if (if_absent) {
      if (reply.wanted()) send_reply<void>(pe, reply, std::monostate{});
    } else if (chare_pe::of(pe).refuses_held()) {
      refuse<void>(pe, reply, fmt::format("{} was inserted, but it exists already", part.text(e)));
    } else {
      part.hold(e, active_message<insert_body>::make(priorities::communication, std::move(*this)));
    }
  }
  /// Claims the index; made here, or on its PE, which what is for it is sent to from now on.
  void nowhere(scheduler& pe, array_part<Index>& part, element<Index>* e) {
    epoch = ((e->epoch >> 32) + 1) << 32;
    if (where == no_pe || where == pe.id()) return make(pe, part, *e);
    e->epoch = epoch;
    e->where = where;
    e->state = presence::elsewhere;
    const pe_id its_pe = where;
    pe.send(its_pe, std::move(*this), priorities::communication);
    part.release_held(*e);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & where & if_absent & reply & args & history & epoch;
  }

 private:
  void make(scheduler& pe, array_part<Index>& part, element<Index>& e) {
    e.epoch = epoch;
    part.start_hearing(e, history);
    part.heads().expect(e);
    if (!detail::construct_element<C>(pe, part, e, args)) return;
    part.heads().born(e, reply);
  }
};

/// At the home of an element that ended elsewhere.
template <class Index>
struct end_notice {
  collection_id array;
  Index index{};
  std::uint64_t epoch = 0;
  section_numbers of_sections;

  void operator()(scheduler& pe) {
    array_part<Index>& part = *find_part<Index>(pe, array);
    element<Index>& e = part.record(index);
    part.member_ended(e, of_sections);
    location_update<Index>{array, index, no_pe, epoch, true}(pe);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & epoch & of_sections;
  }
};

/// Ends an element, from its PE's loop: not while one of its methods runs.
template <class Index>
struct end_body {
  collection_id array;
  Index index{};
  std::uint64_t epoch = 0;  ///< of the element that is meant, not of one inserted in its place later

  void operator()(scheduler& pe) { bring_to_element<Index>(pe, *this); }
  void at(scheduler& pe, array_part<Index>& part, element<Index>& e) {
    if (e.epoch >> 32 != epoch >> 32) return;
    if (part.may_run(e)) {
      if (!wait_for_streams(pe, e, *this)) end(pe, part, e);
    } else {
      part.hold(e, active_message<end_body>::make(priorities::communication, std::move(*this)));
    }
  }
  void nowhere(scheduler&, array_part<Index>&, element<Index>*) {}  // it has ended
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & epoch;
  }

 private:
  void end(scheduler& pe, array_part<Index>& part, element<Index>& e) {
    const std::uint32_t first_missing = e.next_reduction;
    section_numbers of_sections;
    if (e.extras) of_sections = std::exchange(e.extras->section_reductions, {});
    ++e.epoch;
    const pe_id home = part.home(index);
    part.becomes_absent(e, presence::deleted, home);
    if constexpr (std::is_same_v<Index, no_index>) {
      if (home != pe.id()) seed_pool::of(pe).news().ended(home, array, index);
      part.forget(e);
      return;
    }
    part.heads().died(first_missing);
    if (home == pe.id()) {
      part.member_ended(e, of_sections);
    } else {
      pe.send(home, end_notice<Index>{array, index, e.epoch, std::move(of_sections)}, priorities::communication);
    }
  }
};

}  // namespace imbrex
