#pragma once

#include <variant>

#include "imbrex/object/chare.h"
#include "imbrex/object/reduction.h"

namespace imbrex {

namespace detail {

/// The elements that contribute to that allreduce, whose root is `pe`, are ready to be balanced, and are told when that
/// has been done. False: nobody balances them.
bool ask_to_balance(scheduler& pe, const reduction_id& which);

/// Where the results of allreduces go whose contributors are to be balanced before they go on.
struct to_balanced {
  static constexpr bool is_move_point = true;
  static constexpr const char* what_contributes = "ix::balance";
  static constexpr const char* what_is_awaited = "all of its array to come to balance";
  template <class T>
  void operator()(scheduler& pe, const reduction_id& which, T&& value) const {
    if (!ask_to_balance(pe, which)) to_contributors{}(pe, which, std::forward<T>(value));
  }
  template <class Archive>
  void serialize(Archive&) {}
};

}  // namespace detail

/// `co_await ix::balance(*this)` in a coroutine of every element of an array: waits until all have come here, and goes
/// on once loads have been looked at and, if moving elements pays, those that move are on their way: an element that
/// waits here goes before it goes on, also to another process if its coroutine is restartable (`move_point`). Without
/// `--imbrex-balance` it is a barrier. Counts as one of the array's reductions.
template <class C, class Index>
detail::allreduce_wait<std::monostate, detail::take_any, detail::to_balanced> balance(chare<C, Index>& self) {
  detail::check_in_array<Index>();
  return {&self, section_id{}, true, std::monostate{}, detail::take_any{}};
}

}  // namespace imbrex
