#pragma once

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "imbrex/object/collection/broadcast_slices.h"
#include "imbrex/object/collection/entry_message.h"

/// A broadcast: down the PE tree rooted at the sender, or down a section's own tree, then to the elements of each PE.
/// Each element hears it exactly once, wherever it moves meanwhile; broadcasts of one PE with equal priority are heard
/// in order, and before what the same PE sends with equal priority afterwards (`broadcast_ledger`).
namespace imbrex {

template <class E, class Index>
void broadcast_entry(scheduler& pe, collection_id c, section_id s, priority p, auto&&... a);

namespace detail {

template <class E>
using broadcast_args = std::shared_ptr<const travelling_args<typename E::args>>;

/// Invokes entry E on an element that is here, with copies of the arguments.
template <class E>
[[gnu::always_inline]] inline void invoke_copy(scheduler& pe, element_base& e, const broadcast_args<E>& shared) {
  travelling_args<typename E::args> args = *shared;
  if (pe.track != nullptr) [[unlikely]]
    pe.track->begin(E::name(), trace_category::entry);
  invoke<E>(pe, e, args, reply_to{});
  if (pe.track != nullptr) [[unlikely]]
    pe.track->end();
}

/// Sends element `i` a message of its own, as `send` would.
template <class E, class Index>
void send_copy(scheduler& pe, collection_id c, const Index& i, priority p, const broadcast_args<E>& shared) {
  std::apply([&](const auto&... a) { send_entry<E>(pe, c, i, p, reply_to{}, a...); }, *shared);
}

/// A broadcast that an element missed because it moved, on its way to it.
template <class E, class Index>
struct missed_broadcast {
  collection_id array;
  Index index{};
  broadcast_id id;
  travelling_args<typename E::args> args;

  void operator()(scheduler& pe) { bring_to_element<Index>(pe, *this); }
  void at(scheduler& pe, array_part<Index>& part, element<Index>& e) {
    if (part.hear_missed(e, id)) {
      invoke<E>(pe, e, args, reply_to{});
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
    ar & array & index & id & args;
  }
};

/// A broadcast kept for elements that moved.
template <class E, class Index>
class kept_entry_broadcast final : public kept_broadcast {
 public:
  explicit kept_entry_broadcast(broadcast_args<E> args) : args_(std::move(args)) {}
  void send_copy(scheduler& pe, collection& array, const element_base& to, const broadcast_id& id) const override {
    follow(pe, static_cast<array_part<Index>&>(array), static_cast<const element<Index>&>(to),
           missed_broadcast<E, Index>{array.id(), static_cast<const element<Index>&>(to).index, id, *args_});
  }
  void invoke(scheduler& pe, element_base& e) const override { invoke_copy<E>(pe, e, args_); }

 private:
  broadcast_args<E> args_;
};

/// A broadcast to an array, at the elements of one PE.
template <class E, class Index>
class entry_broadcast final : public array_broadcast {
 public:
  entry_broadcast(collection& part, std::vector<element_base*> elements, std::uint32_t number, priority p,
                  broadcast_args<E> args)
      : array_broadcast(part, std::move(elements), number, p), args_(std::move(args)) {}

  void deliver_now(scheduler& pe, element_base& e) override {
    e.heard = number();
    if (e.object != nullptr) hear(pe, e);
  }

 private:
  void deliver(scheduler& pe, element_base* const* elements, std::size_t count) override {
    const bool first = is_first();
    for (std::size_t i = 0; i < count; ++i) {
      if (is_turn_of(*elements[i], first)) hear(pe, *elements[i]);
    }
  }
  void hear(scheduler& pe, element_base& e) {
    if (e.blocked == 0) [[likely]] {
      invoke_copy<E>(pe, e, args_);
    } else {
      e.more().pending_broadcasts.push_back(std::make_shared<kept_entry_broadcast<E, Index>>(args_));
    }
  }

  broadcast_args<E> args_;
};

/// A broadcast to a section, at the members whose home is one PE. Those that live elsewhere get a message of their own.
template <class E, class Index>
class section_broadcast final : public broadcast_slices {
 public:
  section_broadcast(collection_id array, std::vector<element_base*> members, priority p, broadcast_args<E> args)
      : broadcast_slices(std::move(members), p), array_(array), args_(std::move(args)) {}

 private:
  void deliver(scheduler& pe, element_base* const* elements, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) deliver_to(pe, *elements[i]);
  }
  void deliver_to(scheduler& pe, element_base& e) {
    if (e.object != nullptr && e.part->calm()) [[likely]] {
      invoke_copy<E>(pe, e, args_);
    } else if (e.state != presence::deleted) {
      send_copy<E, Index>(pe, array_, static_cast<element<Index>&>(e).index, priority(level), args_);
    }
  }

  collection_id array_;
  broadcast_args<E> args_;
};

}  // namespace detail

/// On each PE of an array's tree.
template <class E, class Index>
struct broadcast_body {
  using args_tuple = detail::travelling_args<typename E::args>;
  static constexpr bool may_part = detail::may_leave_out<args_tuple>;

  pe_id root = no_pe;
  collection_id array;
  std::int8_t level = 0;
  std::uint32_t number = 0;        ///< of those that the root began with this level
  detail::broadcast_args<E> args;  ///< shared by the PEs of a process

  void operator()(scheduler& pe) {
    pe.relay(*this, priority(level));
    local{array, level, {broadcast_id::stream_of(root, level), number}, std::move(args)}(pe);
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & array & level & number;
    if constexpr (Archive::is_loading) {
      auto mine = std::make_shared<args_tuple>();
      ar& beside(*mine);
      args = std::move(mine);
    } else {
      ar& beside(*args);
    }
  }

 private:
  /// What is left to do on this PE. Waits for the array to be complete here and for its turn.
  struct local {
    collection_id array;
    std::int8_t level = 0;
    broadcast_id id;
    detail::broadcast_args<E> args;

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
      ledger.take(id);
      if (ledger.keeps()) ledger.keep(pe, *part, id, std::make_shared<detail::kept_entry_broadcast<E, Index>>(args));
      const std::uint32_t here = part->number_here();
      auto* b = new detail::entry_broadcast<E, Index>(*part, part->listeners(id, here), here, priority(level),
                                                      std::move(args));
      b->run(pe);
      if (ledger.any_waiting()) pe.post_in_front(ledger.take_waiting());
    }
    template <class Archive>
    void serialize(Archive&) {}  // never leaves its PE
  };
};

/// On each PE of a section's tree; first at its root.
template <class E, class Index>
struct section_broadcast_body {
  using args_tuple = detail::travelling_args<typename E::args>;
  static constexpr bool may_part = detail::may_leave_out<args_tuple>;

  collection_id array;
  section_id section;
  std::int8_t level = 0;
  detail::broadcast_args<E> args;

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
    for (const pe_id child : s->children) pe.send(child, section_broadcast_body(*this), priority(level));
    (new detail::section_broadcast<E, Index>(array, s->members, priority(level), std::move(args)))->run(pe);
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & section & level;
    if constexpr (Archive::is_loading) {
      auto mine = std::make_shared<args_tuple>();
      ar& beside(*mine);
      args = std::move(mine);
    } else {
      ar& beside(*args);
    }
  }
};

/// Invokes entry E on all elements of array `c`, or of section `s` of it.
template <class E, class Index>
void broadcast_entry(scheduler& pe, collection_id c, section_id s, priority p, auto&&... a) {
  using args_tuple = detail::travelling_args<typename E::args>;
  static_assert(std::is_copy_constructible_v<args_tuple>,
                "imbrex: the arguments of a broadcast are copied to every element, so their types must be copyable");
  auto args = std::make_shared<args_tuple>(std::forward<decltype(a)>(a)...);
  detail::leave_pe(*args);
  const auto level = static_cast<std::int8_t>(p.value);
  if (s.whole_array()) {
    const std::uint32_t number = chare_pe::of(pe).number_broadcast(c, p);
    pe.spread(broadcast_body<E, Index>{no_pe, c, level, number, std::move(args)}, p);
  } else {
    pe.send(pe.standing_for(s.creator), section_broadcast_body<E, Index>{c, s, level, std::move(args)}, p);
  }
}

}  // namespace imbrex
