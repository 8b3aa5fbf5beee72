#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/collection/broadcast_slices.h"
#include "imbrex/object/collection/entry_message.h"
#include "imbrex/object/entry/broadcast_call.h"
#include "imbrex/object/entry/shown_name.h"

/// A broadcast: down the PE tree rooted at the sender, or down a section's own tree, then to the elements of each PE.
/// Each element hears it exactly once, wherever it moves meanwhile; broadcasts of one PE with equal priority are heard
/// in order, and before what the same PE sends with equal priority afterwards (`broadcast_ledger`). Nothing here names
/// an entry method: what is said is a `broadcast_call`.
namespace imbrex {

namespace detail {

/// What traces call a broadcast of `call` to `array`.
template <class Index>
const char* name_of_broadcast(scheduler& pe, collection_id array, const broadcast_call& call) {
  const array_part<Index>* const part = find_part<Index>(pe, array);
  return kept_name(std::string("broadcast of ") + call.name(part != nullptr ? part->chare_name() : nullptr));
}

/// A broadcast that an element missed because it moved, on its way to it.
template <class Index>
struct missed_broadcast {
  collection_id array;
  Index index{};
  broadcast_id id;
  shared_call call;

  static constexpr bool may_part = true;
  void operator()(scheduler& pe) { bring_to_element<Index>(pe, *this); }
  void at(scheduler& pe, array_part<Index>& part, element<Index>& e) {
    if (part.hear_missed(e, id)) {
      call->invoke(pe, e);
      part.after_missed(e);
    } else {
      pe.count_created();  // performed a second time
      e.extras->hearing->early.push_back(
          active_message<missed_broadcast>::make(priorities::communication, std::move(*this)));
    }
  }
  void nowhere(scheduler&, array_part<Index>&, element<Index>*) {}  // it has ended
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & id & call;
  }
};

/// A section's broadcast, on its way to a member that does not live at its home.
template <class Index>
struct section_copy : element_message<Index> {
  using element_message<Index>::level;
  section_copy() = default;
  section_copy(scheduler& pe, collection_id c, const Index& i, std::int8_t p, shared_call what)
      : element_message<Index>{c, i, pe.id(), p}, call(std::move(what)) {}

  shared_call call;

  static constexpr bool may_part = true;
  void operator()(scheduler& pe) { bring_to_element<Index>(pe, *this); }
  void at(scheduler& pe, array_part<Index>& part, element<Index>& e) {
    if (!this->waits(pe, part, e, *this)) call->invoke(pe, e);
  }
  void nowhere(scheduler& pe, array_part<Index>& part, element<Index>* e) {
    if (e->state == presence::deleted) return;  // the section goes on without it
    this->follows_broadcasts_of(pe, part);
    part.hold(*e, once_more());
  }
  work* once_more() { return active_message<section_copy>::make(priority(level), std::move(*this)); }
  template <class Archive>
  void serialize(Archive& ar) {
    element_message<Index>::serialize(ar);
    ar & call;
  }
};

/// A broadcast to a section, at the members whose home is one PE. Those that live elsewhere get a message of their own.
template <class Index>
class section_broadcast final : public broadcast_slices {
 public:
  section_broadcast(collection_id array, std::vector<element_base*> members, priority p, shared_call call)
      : broadcast_slices(std::move(members), p), array_(array), call_(std::move(call)) {}

 private:
  void deliver(scheduler& pe, element_base* const* elements, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) deliver_to(pe, *elements[i]);
  }
  void deliver_to(scheduler& pe, element_base& e) {
    if (e.object != nullptr && e.part->calm()) [[likely]] {
      call_->invoke(pe, e);
    } else if (e.state != presence::deleted) {
      send_copy(pe, static_cast<element<Index>&>(e));
    }
  }
  void send_copy(scheduler& pe, const element<Index>& e) {
    section_copy<Index> copy(pe, array_, e.index, level, call_);
    e.object != nullptr ? pe.send(pe.id(), std::move(copy), priority(level)) : copy(pe);
  }

  collection_id array_;
  shared_call call_;
};

}  // namespace detail

/// On each PE of an array's tree.
template <class Index>
struct broadcast_body {
  pe_id root = no_pe;
  collection_id array;
  std::int8_t level = 0;
  std::uint32_t number = 0;  ///< of those that the root began with this level
  shared_call call;

  static constexpr bool may_part = true;
  const char* name_of_work(scheduler& pe) const { return detail::name_of_broadcast<Index>(pe, array, *call); }
  void operator()(scheduler& pe) {
    pe.relay(*this, priority(level));
    local{array, level, {broadcast_id::stream_of(root, level), number}, std::move(call)}(pe);
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & array & level & number & call;
  }

 private:
  /// What is left to do on this PE. Waits for the array to be complete here and for its turn.
  struct local {
    collection_id array;
    std::int8_t level = 0;
    broadcast_id id;
    shared_call call;

    void operator()(scheduler& pe) {
      array_part<Index>* const part = find_part<Index>(pe, array);
      if (part == nullptr || !part->complete()) {
        chare_pe::of(pe).hold_for_collection(array, std::move(*this));
        return;
      }
      broadcast_ledger& ledger = part->broadcasts();
      if (!ledger.is_next(id)) {
        pe.count_created();  // performed a second time
        ledger.wait({id.stream, id.number - 1}, active_message<local>::make(priority(level), std::move(*this)));
        return;
      }
      if (const collection_id c = call->to_come(pe); c != collection_id{}) [[unlikely]]
        return chare_pe::of(pe).hold_for_collection(c, std::move(*this));
      ledger.take(id);
      if (ledger.keeps()) ledger.keep(*part, id, call);
      const std::uint32_t here = part->number_here();
      (new array_broadcast(*part, part->listeners(id, here), here, priority(level), std::move(call)))->run(pe);
      if (ledger.any_waiting()) pe.post_in_front(ledger.take_waiting());
    }
    template <class Archive>
    void serialize(Archive&) {}  // never leaves its PE
  };
};

/// On each PE of a section's tree; first at its root.
template <class Index>
struct section_broadcast_body {
  collection_id array;
  section_id section;
  std::int8_t level = 0;
  shared_call call;

  static constexpr bool may_part = true;
  const char* name_of_work(scheduler& pe) const { return detail::name_of_broadcast<Index>(pe, array, *call); }
  void operator()(scheduler& pe) {
    array_part<Index>* const part = find_part<Index>(pe, array);
    if (part == nullptr || !part->complete()) {
      chare_pe::of(pe).hold_for_collection(array, std::move(*this));
      return;
    }
    section_part* const s = part->find_section(section);
    if (s == nullptr || !s->announced) {
      if (part->was_freed(section)) return;
      pe.count_created();  // performed a second time
      part->add_section(section).held.push_back(
          active_message<section_broadcast_body>::make(priority(level), std::move(*this)));
      return;
    }
    if (const collection_id c = call->to_come(pe); c != collection_id{}) [[unlikely]]
      return chare_pe::of(pe).hold_for_collection(c, std::move(*this));
    for (const pe_id child : s->children) pe.send(child, section_broadcast_body(*this), priority(level));
    (new detail::section_broadcast<Index>(array, s->members, priority(level), std::move(call)))->run(pe);
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & section & level & call;
  }
};

/// It has moved from this PE since `call` was taken here, and hears it where it is.
template <class Index>
void array_part<Index>::send_missed(const element_base& to, const broadcast_id& id, const shared_call& call) {
  const auto& e = static_cast<const element<Index>&>(to);
  follow(pe(), *this, e, detail::missed_broadcast<Index>{this->id(), e.index, id, call});
}

namespace detail {

/// Says `call` to all elements of array `c`, or of section `s` of it.
template <class Index>
void begin_broadcast(scheduler& pe, collection_id c, section_id s, priority p, shared_call call) {
  const auto level = static_cast<std::int8_t>(p.value);
  if (s.whole_array()) {
    const std::uint32_t number = chare_pe::of(pe).number_broadcast(c, p);
    pe.spread(broadcast_body<Index>{no_pe, c, level, number, std::move(call)}, p);
  } else {
    pe.send(pe.standing_for(s.creator), section_broadcast_body<Index>{c, s, level, std::move(call)}, p);
  }
}

}  // namespace detail

}  // namespace imbrex
