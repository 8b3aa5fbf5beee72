#pragma once

#include <coroutine>
#include <exception>
#include <string>
#include <utility>

#include "imbrex/object/collection/entry_message.h"
#include "imbrex/pe/reply_impl.h"

namespace imbrex {

namespace detail {

template <class Request>
struct pe_call_message {
  Request request;
  reply_to reply;

  void operator()(scheduler& pe) {
    using R = typename Request::result;
    std::exception_ptr thrown;
    try {
      send_reply<R>(pe, reply, request.on_pe(chare_pe::of(pe)));
    } catch (...) {
      thrown = std::current_exception();
    }
    if (thrown) send_failure<R>(pe, reply, std::move(thrown));
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & request & reply;
  }
};

template <class Request>
class pe_call_awaiter : public reply_awaiter<typename Request::result> {
 public:
  pe_call_awaiter(pe_id to, Request r) : to_(to), request_(std::move(r)) {}
  void await_suspend(std::coroutine_handle<> h) {
    const reply_to r = this->expect(h, [](const waiter*) { return std::string(Request::name); });
    scheduler::current().send(to_, pe_call_message<Request>{std::move(request_), r}, priorities::communication);
  }
  auto await_resume() { return this->take(); }

 private:
  pe_id to_;
  Request request_;
};

}  // namespace detail

/// Has `result Request::on_pe(chare_pe&)` run on one PE; gives what it gave, or rethrows what it threw. `Request::name`
/// is for reports.
template <class Request>
task<typename Request::result> on_one_pe(pe_id to, Request request) {
  detail::pe_call_awaiter<Request> answer(to, std::move(request));
  co_return co_await answer;
}

}  // namespace imbrex
