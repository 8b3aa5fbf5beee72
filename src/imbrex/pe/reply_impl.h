#pragma once

#include "imbrex/pe/reply.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

template <class R>
reply_awaiter<R>::~reply_awaiter() {
  if (!address.wanted() || answer) return;
  scheduler& pe = scheduler::current();
  if (address.pe == pe.id()) pe.replies.take(address, pe.id());
}

template <class R>
reply_to reply_awaiter<R>::expect(std::coroutine_handle<> h, std::string (*what)(const waiter*)) {
  suspend(h, what);
  scheduler& pe = scheduler::current();
  address = pe.replies.add(pe.id(), this);
  return address;
}

template <class R>
reply_to reply_awaiter<R>::expect_anywhere(std::coroutine_handle<> h, std::string (*what)(const waiter*)) {
  const reply_to r = expect(h, what);
  mobility = &follows;
  return r;
}

template <class R>
void reply_body<R>::operator()(scheduler& pe) {
  const reply_table::receiver who = pe.replies.take(to, pe.id());
  if (who.route != nullptr) [[unlikely]] {
    if constexpr (!std::is_same_v<value, value_or_unit<R>>) {
      if (answer.index() == 0) std::get<0>(answer).leave_pe();
    }
    who.route->carry(active_message<reply_body>::make(priorities::communication, std::move(*this)), true);
    return;
  }
  auto* w = static_cast<reply_awaiter<R>*>(who.waiting);
  if (w == nullptr) return;  // who asked has been destroyed meanwhile
  if constexpr (std::is_same_v<value, value_or_unit<R>>) {
    w->answer.emplace(std::move(answer));
  } else if (answer.index() == 0) {
    w->answer.emplace(std::in_place_index<0>, std::get<0>(answer).arrive());
  } else {
    w->answer.emplace(std::in_place_index<1>, std::get<1>(std::move(answer)));
  }
  w->resume();
}

}  // namespace imbrex
