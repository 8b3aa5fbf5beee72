#pragma once

#include <cstdint>
#include <new>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "imbrex/async/work.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/base/serialize.h"
#include "imbrex/comm/message.h"

/// Active messages: a function object that is sent to a PE and called there. Everything that the object layer says
/// from PE to PE is one: entry method invocations, replies, reductions, locations. A body type H has
///
///     void operator()(scheduler& pe);                     called on the PE it was sent to
///     template <class Archive> void serialize(Archive&);  used between ranks only
///     static constexpr bool counted = ...;                optional: whether quiescence waits for it (default true)
///     static constexpr bool aggregated = ...;             optional: whether it may wait for others (default false)
///     static constexpr bool may_part = ...;               optional: whether its serialize leaves large arrays out, by
///                                                         `beside` (default false); then it is performed where it was
///                                                         read
///     const char* name(scheduler& pe) const;              optional: what a trace calls it, an entry method
///     std::string in_report(scheduler& pe) const;         optional: what reports call it when it throws; else its type
///     void fails(scheduler& pe, std::exception_ptr why) const;  optional: told in its place what it threw
///     static const char* when_read();                     optional: what a message is for that cannot be read
///     const char* name_of_work(scheduler& pe) const;      optional: the same, work of the runtime; else its type is
///     said
namespace imbrex {

class scheduler;

/// How one type of body is received from the wire. One object per type, registered before main.
struct handler_info {
  explicit handler_info(const char* type, void (*receive_)(scheduler&, wire_message*))
      : type_name(type), receive(receive_) {
    registry().push_back(this);
  }
  const char* type_name;
  void (*receive)(scheduler&, wire_message*);
  std::uint32_t number = 0;  ///< the same on every rank, set by `seal`

  /// All handlers of the program, sorted by name once `seal` was called.
  static std::vector<handler_info*>& registry();
  /// Numbers the handlers and what else is registered, the first time; any thread. Returns a digest of their names,
  /// equal on all ranks that run the same program.
  static std::uint64_t seal();
};

/// Whether messages to `H` count as under way when quiescence is looked for.
template <class H>
constexpr bool is_counted() {
  if constexpr (requires { H::counted; }) {
    return H::counted;
  } else {
    return true;
  }
}

/// Whether messages of this body to another rank may travel together (see message_bundles.h).
template <class H>
constexpr bool is_aggregated() {
  if constexpr (requires { H::aggregated; }) {
    return H::aggregated;
  } else {
    return false;
  }
}

/// Whether large arrays in it may travel beside the message (see remote/parted_message.h).
template <class H>
constexpr bool is_partable() {
  if constexpr (requires { H::may_part; }) {
    return H::may_part;
  } else {
    return false;
  }
}

/// What receives messages of body `H`: registered once for each type, on all ranks alike.
template <class H>
struct handler {
  static void receive(scheduler& pe, wire_message* m);
  inline static handler_info info{typeid(H).name(), &handler<H>::receive};
};

/// A body on its way inside a process.
template <class H>
struct active_message : work {
  template <class... A>
  explicit active_message(A&&... a) : body(std::forward<A>(a)...) {
    act = &active_message::perform;
  }

  template <class... A>
  static active_message* make(priority p, A&&... a) {
    static_assert(alignof(H) <= 16, "imbrex: over-aligned types cannot travel in a message");
    auto* m = new (slab::allocate(sizeof(active_message))) active_message(std::forward<A>(a)...);
    m->set_priority(p);
    return m;
  }
  static void destroy(active_message* m) {
    m->~active_message();
    slab::free(m);
  }

  static void perform(work* w, work_action action);

  H body;
  std::uint64_t flow = 0;
};

}  // namespace imbrex
