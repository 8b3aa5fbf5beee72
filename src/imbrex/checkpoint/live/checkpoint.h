#pragma once

#include <coroutine>

#include "imbrex/checkpoint/live/checkpoint_signal.h"
#include "imbrex/checkpoint/live/point_messages.h"
#include "imbrex/object/chare.h"
#include "imbrex/object/compiled_bodies.h"

namespace imbrex {

IMBREX_COMPILED_RESULT_TO(extern, int, max_op, detail::to_checkpointer);
IMBREX_COMPILED_BODY(extern, point_call);

namespace detail {

class [[nodiscard]] checkpoint_point_awaiter : allreduce_awaiter<int, max_op, to_checkpointer> {
  using all = allreduce_awaiter<int, max_op, to_checkpointer>;

 public:
  explicit checkpoint_point_awaiter(element_base& e) : all(e, section_id{}, true, checkpoint_signals::pending(), max) {}
  bool await_ready() const { return !checkpointer::of(scheduler::current()).has_points(); }
  void await_suspend(std::coroutine_handle<> h) { all::await_suspend(h); }
  bool await_resume() { return this->value && all::await_resume() != 0; }
};

struct [[nodiscard("co_await it")]] checkpoint_point_wait {
  chare_base* of;  // which may move before this is awaited
  checkpoint_point_awaiter operator co_await() const { return checkpoint_point_awaiter(chare_access::element(*of)); }
};

}  // namespace detail

/// `co_await ix::checkpoint_point(*this)` in a coroutine of every element of an array: a point at which the members of
/// these elements are all that has to be kept of them. Without `--imbrex-checkpoint` it is passed at once. Else it
/// waits until all elements of the array have come (it counts as one of the array's reductions), and, when a checkpoint
/// is due, until one has been taken; it is written while they go on. Gives whether one was taken. After a restart
/// the coroutine is not there: the program's `restart` starts it again.
template <class C, class Index>
detail::checkpoint_point_wait checkpoint_point(chare<C, Index>& self) {
  detail::check_in_array<Index>();
  return {&self};
}

}  // namespace imbrex
