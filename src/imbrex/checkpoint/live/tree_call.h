#pragma once

#include <coroutine>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/async/when_all.h"
#include "imbrex/object/collection/entry_activity.h"
#include "imbrex/object/collection/entry_message.h"
#include "imbrex/pe/reply_impl.h"

namespace imbrex {

/// Has `task<result> Request::on_pe(chare_pe&)` run on every PE, along the tree of PE 0, from where it is called; gives
/// the results in no order. If some throw, all are waited for, then one exception is rethrown. `Request::name` is for
/// reports; the call itself and all PEs below are coroutines of no chare.
template <class Request>
task<std::vector<typename Request::result>> on_all_pes(Request request);

namespace detail {

template <class Request>
struct tree_call {
  using results = std::vector<typename Request::result>;
  Request request;
  reply_to reply;

  void operator()(scheduler& pe) {
    entry_activity::start(pe, nullptr, Request::name, on_all_pes(std::move(request)), reply, &conclude_entry<results>);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & request & reply;
  }
};

template <class Request>
class tree_call_awaiter : public reply_awaiter<std::vector<typename Request::result>> {
 public:
  tree_call_awaiter(pe_id to, Request r) : to_(to), request_(std::move(r)) {}
  void await_suspend(std::coroutine_handle<> h) {
    const reply_to r = this->expect(h, [](const waiter*) { return std::string(Request::name); });
    scheduler::current().send(to_, tree_call<Request>{std::move(request_), r}, priorities::communication);
  }
  auto await_resume() { return this->take(); }

 private:
  pe_id to_;
  Request request_;
};

template <class Request>
task<std::vector<typename Request::result>> on_pe_and_below(pe_id pe, Request request) {
  tree_call_awaiter<Request> answer(pe, std::move(request));
  co_return co_await answer;
}
template <class Request>
task<std::vector<typename Request::result>> on_this_pe(Request request) {
  std::vector<typename Request::result> one;
  auto own = request.on_pe(chare_pe::current());
  one.push_back(co_await own);
  co_return one;
}

}  // namespace detail

template <class Request>
task<std::vector<typename Request::result>> on_all_pes(Request request) {
  scheduler& pe = scheduler::current();
  std::vector<pe_id> below;
  pe.tree().children_of(pe.id(), 0, below);
  std::vector<task<std::vector<typename Request::result>>> parts;
  parts.reserve(below.size() + 1);
  for (const pe_id child : below) parts.push_back(detail::on_pe_and_below(child, request));
  parts.push_back(detail::on_this_pe(std::move(request)));
  auto all = when_all(std::move(parts));
  auto results = co_await std::move(all);
  std::vector<typename Request::result> joined;
  for (auto& r : results)
    joined.insert(joined.end(), std::make_move_iterator(r.begin()), std::make_move_iterator(r.end()));
  co_return joined;
}

}  // namespace imbrex
