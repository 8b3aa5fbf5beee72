#pragma once

#include "imbrex/pe/reply.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

template <class R>
reply_awaiter<R>::~reply_awaiter() {
  if (address_.wanted() && !answer) scheduler::current().replies.take(address_);
}

template <class R>
reply_to reply_awaiter<R>::expect(std::coroutine_handle<> h, std::string (*what)(const waiter*)) {
  suspend(h, what);
  scheduler& pe = scheduler::current();
  address_ = pe.replies.add(pe.id(), this);
  return address_;
}

template <class R>
void reply_body<R>::operator()(scheduler& pe) {
  auto* w = static_cast<reply_awaiter<R>*>(pe.replies.take(to));
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
