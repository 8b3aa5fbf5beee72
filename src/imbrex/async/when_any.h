#pragma once

#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "imbrex/async/branch.h"
#include "imbrex/async/task.h"
#include "imbrex/base/error.h"

namespace imbrex {

namespace detail {

/// Resumes the parent when the first branch has ended; cancels the others at that moment, so that nothing that
/// happens later is taken by a branch nobody looks at.
struct join_any : join {
  static constexpr std::size_t none = ~std::size_t{0};

  join_any(void* branches, void (*cancel_others)(void*, std::size_t)) : all(branches), cancel(cancel_others) {
    ended = &join_any::one_ended;
  }
  static std::coroutine_handle<> one_ended(join* j, std::size_t number) noexcept {
    auto* self = static_cast<join_any*>(j);
    self->winner = number;
    self->cancel(self->all, number);
    return self->parent ? self->parent : std::noop_coroutine();
  }

  bool await_ready() const noexcept { return winner != none; }
  void await_suspend(std::coroutine_handle<> h) noexcept { parent = h; }
  void await_resume() const noexcept {}

  void* all;
  void (*cancel)(void*, std::size_t);
  std::size_t winner = none;
  std::coroutine_handle<> parent;
};

template <class... R, std::size_t... I>
task<std::variant<R...>> when_any_of(std::tuple<branch<R>...> branches, std::index_sequence<I...>) {
  using tuple = std::tuple<branch<R>...>;
  join_any any(&branches, [](void* all, std::size_t winner) {
    ((I != winner ? std::get<I>(*static_cast<tuple*>(all)).cancel() : void()), ...);
  });
  ((any.winner == join_any::none ? std::get<I>(branches).start(&any, I) : void()), ...);
  co_await any;
  std::optional<std::variant<R...>> result;
  ((I == any.winner ? (result.emplace(std::in_place_index<I>, std::get<I>(branches).take()), void()) : void()), ...);
  co_return std::move(*result);
}

}  // namespace detail

/// Waits for the first of several awaitables; gives its value in a variant whose index says which it was
/// (`std::monostate` for void). The waits of the others are taken back at once: a message that arrives for them
/// later stays in its slot. If the first one throws, that is rethrown.
template <class... A>
  requires(sizeof...(A) > 0)
auto when_any(A... awaitables) {
  return detail::when_any_of(
      std::tuple<detail::branch<detail::result_of<A>>...>(detail::make_branch<A>(std::move(awaitables))...),
      std::index_sequence_for<A...>{});
}

/// The same for a run-time number (at least one) of awaitables of one type: the position and the value.
template <class A>
task<std::pair<std::size_t, detail::result_of<A>>> when_any(std::vector<A> awaitables) {
  using R = detail::result_of<A>;
  using branch_list = std::vector<detail::branch<R>>;
  if (awaitables.empty()) throw usage_error("when_any was given nothing to wait for");
  branch_list branches;
  branches.reserve(awaitables.size());
  for (A& a : awaitables) branches.push_back(detail::make_branch<A>(std::move(a)));
  detail::join_any any(&branches, [](void* all, std::size_t winner) {
    auto& list = *static_cast<branch_list*>(all);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i != winner) list[i].cancel();
    }
  });
  for (std::size_t i = 0; i < branches.size() && any.winner == detail::join_any::none; ++i) branches[i].start(&any, i);
  co_await any;
  R value = branches[any.winner].take();
  co_return std::pair<std::size_t, R>(any.winner, std::move(value));
}

}  // namespace imbrex
