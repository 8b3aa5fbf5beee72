#pragma once

#include <coroutine>
#include <string>

#include "imbrex/object/chare.h"
#include "imbrex/object/load/element_sizes.h"

namespace imbrex {

namespace detail {

class [[nodiscard]] move_point_awaiter : waiter {
 public:
  explicit move_point_awaiter(element_base& e) : element_(e) {}
  bool await_ready() const {
    if (element_.part->pe().sizes_asked != 0 && is_alone()) [[unlikely]]
      note_size(element_);
    // On a busy PE the code of an element may come to a point before the wish that is tried again behind it.
    return !element_.extras || (element_.extras->wish_to_move == nullptr && !element_.extras->wish_is_tried);
  }
  void await_suspend(std::coroutine_handle<> h) {
    suspend(h, [](const waiter*) { return std::string("its move to another process"); }, &at_move_point);
    move_requests::of(chare_pe::current()).try_now(element_);
  }
  void await_resume() const {}

 private:
  bool is_alone() const { return element_.activities != nullptr && element_.activities->following == nullptr; }

  element_base& element_;
};

struct [[nodiscard("co_await it")]] move_point_wait {
  chare_base* of;  // which may move before this is awaited
  move_point_awaiter operator co_await() const { return move_point_awaiter(chare_access::element(*of)); }
};

}  // namespace detail

/// `co_await ix::move_point(*this)` in a coroutine of a chare: here its members are all that it needs. A chare that is
/// to move to another process, and could not since coroutines cannot travel, goes from here: a coroutine entry method
/// that the class lists as restartable, behind its declaration,
///
///     using restartable = imbrex::entry_list<&block::run>;
///
/// is ended, and called again on the other side; whoever called it first gets its answer. All coroutines of the chare
/// that run then stand at such points (`balance` is one, too), and memory that its channels have lent is back. Else,
/// and when nothing wishes the chare to move, the point is passed; then it costs a look at one word. Channels go along
/// with what has come and was not received (see `channel`).
template <class C, class Index>
detail::move_point_wait move_point(chare<C, Index>& self) {
  return {&self};
}

}  // namespace imbrex
