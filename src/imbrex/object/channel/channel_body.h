#pragma once

#include <memory>
#include <utility>

#include "imbrex/comm/data/message_packing.h"
#include "imbrex/object/collection/location.h"
#include "imbrex/object/data/port_table.h"

namespace imbrex::detail {

/// A channel's message on its way to the element that holds the other end. Data that did not come along can only be
/// fetched by the PE that the sender believed to be the receiver's: such a message goes there first, and if the element
/// has left, on from there with its data. So does one with memory of a device that is lent inside a process.
template <class Index>
struct channel_body {
  collection_id array;
  Index index{};
  std::int32_t port = 0;
  pe_id from = no_pe;
  channel_message message;

  void operator()(scheduler& pe) {
    if ((message.remote || message.lent.on != nullptr) && is_to_be_packed(pe)) [[unlikely]] {
      pack_first(pe);
    } else {
      bring_to_element<Index>(pe, *this);
    }
  }
  void at(scheduler& pe, array_part<Index>& part, element<Index>& e) {
    if (!part.calm() && !part.may_run(e)) [[unlikely]] {
      part.hold(e, active_message<channel_body>::make(priorities::communication, std::move(*this)));
      return;
    }
    try {
      e.ports().deliver(port, std::move(message));
    } catch (...) {
      chare_pe::of(pe).fail_method(&e, "a channel", std::current_exception());
    }
  }
  void leaves(scheduler& pe, array_part<Index>&, const element<Index>& e, pe_id next) {
    if (from != no_pe && from != pe.id() && next == e.where)
      pe.send(from, location_update<Index>{array, index, e.where, e.epoch, false}, priorities::communication);
  }
  void nowhere(scheduler&, array_part<Index>& part, element<Index>* e) {
    if (e == nullptr) e = &part.record(index);
    if (e->state != presence::deleted) {
      part.hold(*e, active_message<channel_body>::make(priorities::communication, std::move(*this)));
    } else if (!message.is_hello) {  // else nobody is left to be told
      throw usage_error(fmt::format("a channel message was sent to {}, which has been deleted", part.text(*e)));
    }
  }
  /// Goes on with its data, on the PE that can get at them.
  [[gnu::cold, gnu::noinline]] void pack_first(scheduler& pe) {
    auto rest = std::make_shared<channel_body>(channel_body{array, index, port, from, {}});
    pack(std::move(message), *pe.mover, *pe.default_device, [rest](channel_message&& packed) {
      rest->message = std::move(packed);
      bring_to_element<Index>(scheduler::current(), *rest);
    });
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & port & from & message;
  }

 private:
  [[gnu::cold, gnu::noinline]] bool is_to_be_packed(scheduler& pe) const {
    const pe_id next = next_stop(pe, array, index);
    return next != no_pe && message.is_bound(!pe.rank().is_local(next));
  }
};

/// What came to an element that has left, and has to be packed first, goes after it.
template <class Index>
void send_after(scheduler& pe, const array_part<Index>& part, const Index& index, std::vector<port_message>&& come) {
  for (port_message& m : come)
    channel_body<Index>{part.id(), index, m.port, no_pe, std::move(m.message)}.pack_first(pe);
}

}  // namespace imbrex::detail
