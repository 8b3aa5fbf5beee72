#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>

#include "imbrex/object/collection/entry_activity.h"
#include "imbrex/object/collection/entry_message.h"
#include "imbrex/object/entry/entry.h"

/// Coroutines that are ended on one side and called again on the other: how chares that wait cross processes.
namespace imbrex {

/// `using restartable = imbrex::entry_list<&block::run>;` in a chare: entry methods, coroutines without arguments, that
/// are ended at a move point (`move_point`, `balance`) when the chare goes to another process, and called again there.
template <auto... M>
struct entry_list {};

namespace detail {

/// A coroutine of an element that is called again; whoever called it first still gets the answer.
struct entry_restart {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t which = none;  ///< of the class's `restartable`
  reply_to reply;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & which & reply;
  }
};

template <class C, class List>
struct restartable_entries;
template <class C, auto... M>
struct restartable_entries<C, entry_list<M...>> {
  static_assert(
      ((entry_of<C, M>::kind == entry_kind::coroutine && std::tuple_size_v<typename entry_of<C, M>::args> == 0) && ...),
      "imbrex: a restartable entry method is a coroutine without arguments: members are all that it knows when "
      "it is called again");

  static std::uint32_t find(const char* name) {
    std::uint32_t which = entry_restart::none, i = 0;
    ((std::strcmp(name, entry_of<C, M>::name()) == 0 ? void(which = i++) : void(++i)), ...);
    return which;
  }
  static void call(scheduler& pe, element_base& e, const entry_restart& r) {
    std::uint32_t i = 0;
    ((i++ == r.which ? call_one<M>(pe, e, r.reply) : void()), ...);
  }

 private:
  template <auto Method>
  static void call_one(scheduler& pe, element_base& e, const reply_to& reply) {
    using E = entry_of<C, Method>;
    const actor_turn turn(pe, &e);
    entry_activity::start(pe, &e, E::name(), (static_cast<C*>(e.object)->*Method)(), reply,
                          &conclude_entry<typename E::result>);
  }
};

/// Whether `a` stands at a move point and at nothing else.
inline bool stands_at_move_point(const entry_activity& a) {
  const waiter* const w = a.first_waiter;
  return w != nullptr && w->following == nullptr && w->mobility != nullptr && w->mobility->is_move_point;
}

/// Which of the class's restartable methods `a` runs.
template <class C>
std::uint32_t restart_of(const entry_activity& a) {
  if constexpr (requires { typename C::restartable; }) {
    return restartable_entries<C, typename C::restartable>::find(a.name);
  } else {
    return entry_restart::none;
  }
}
template <class C>
void call_again(scheduler& pe, element_base& e, const entry_restart& r) {
  if constexpr (requires { typename C::restartable; }) restartable_entries<C, typename C::restartable>::call(pe, e, r);
}

}  // namespace detail

}  // namespace imbrex
