#pragma once

#include <coroutine>
#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "imbrex/async/activity.h"
#include "imbrex/async/branch.h"
#include "imbrex/async/task.h"

namespace imbrex {

namespace detail {

/// What a branch has thrown while others still wait: stands among what its activity waits for, so that the report of a
/// deadlock tells it. Of the calling PE; null where none runs.
std::shared_ptr<waiter> note_failed_branch(const std::exception_ptr& thrown);

/// Resumes the parent when the last branch has ended.
struct join_all : join {
  explicit join_all(std::size_t branches) : left(branches + 1) { ended = &join_all::one_ended; }
  static std::coroutine_handle<> one_ended(join* j, std::size_t) noexcept {
    auto* self = static_cast<join_all*>(j);
    if (--self->left == 0) {
      self->failed.reset();
      return self->parent;
    }
    if (self->failure && self->failed == nullptr) [[unlikely]]
      self->failed = note_failed_branch(self->failure);
    return std::noop_coroutine();
  }

  bool await_ready() const noexcept { return left == 1; }
  bool await_suspend(std::coroutine_handle<> h) noexcept {
    parent = h;
    if (--left != 0) return true;
    failed.reset();
    return false;
  }
  void await_resume() const noexcept {}

  std::size_t left;  // and the parent, until it waits
  std::coroutine_handle<> parent;
  std::shared_ptr<waiter> failed;
};

template <class... R, std::size_t... I>
task<std::tuple<R...>> when_all_of(std::tuple<branch<R>...> branches, std::index_sequence<I...>) {
  join_all all(sizeof...(R));
  (std::get<I>(branches).start(&all, I), ...);
  co_await all;
  std::tuple<R...> values{std::get<I>(branches).take()...};  // braces: the first failure in argument order
  co_return values;
}

}  // namespace detail

/// Waits for all of several awaitables at once, in whatever order they happen; gives their values as a tuple
/// (`std::monostate` for void). If some throw, all are still waited for; then the first in argument order is rethrown.
template <class... A>
  requires(sizeof...(A) > 0)
auto when_all(A... awaitables) {
  return detail::when_all_of(
      std::tuple<detail::branch<detail::result_of<A>>...>(detail::make_branch<A>(std::move(awaitables))...),
      std::index_sequence_for<A...>{});
}

/// The same for a run-time number of awaitables of one type; the values come in the order of the vector.
template <class A>
task<std::vector<detail::result_of<A>>> when_all(std::vector<A> awaitables) {
  using R = detail::result_of<A>;
  std::vector<detail::branch<R>> branches;
  branches.reserve(awaitables.size());
  for (A& a : awaitables) branches.push_back(detail::make_branch<A>(std::move(a)));
  detail::join_all all(branches.size());
  for (std::size_t i = 0; i < branches.size(); ++i) branches[i].start(&all, i);
  co_await all;
  std::vector<R> values;
  values.reserve(branches.size());
  for (auto& b : branches) values.push_back(b.take());
  co_return values;
}

}  // namespace imbrex
