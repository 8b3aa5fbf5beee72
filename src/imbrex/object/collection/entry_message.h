#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "imbrex/comm/data/message_packing.h"
#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/collection/element_traffic.h"
#include "imbrex/object/collection/entry_activity.h"
#include "imbrex/object/collection/location.h"
#include "imbrex/object/data/device_view.h"
#include "imbrex/object/data/hetero_argument.h"
#include "imbrex/object/entry/entry.h"
#include "imbrex/object/entry/known_slots.h"
#include "imbrex/object/entry/shown_name.h"

/// An entry method invocation, from the sender's call to the method's run. The walk of a message: `proxy` ->
/// `send_entry` (finds the element or its PE) -> `scheduler::send` -> `entry_body::operator()` -> `bring_to_element`
/// (location.h) -> `invoke`.
namespace imbrex {

namespace detail {
/// Why a message cannot be delivered.
std::string deleted_text(const char* entry, const char* chare, const std::string& index);
}  // namespace detail

/// Answers `r` with an exception. Give away the last reference to it: the PE that asked is then its only owner.
template <class R>
void send_failure(scheduler& pe, const reply_to& r, std::exception_ptr e) {
  pe.send(r.pe,
          reply_body<R>{r, outcome<typename reply_body<R>::value>(std::in_place_index<1>, failure::of(std::move(e)))},
          priorities::communication);
}
/// Answers `r` with a value, `std::monostate` for void; with what its serialize throws.
template <class R, class V>
void send_reply(scheduler& pe, const reply_to& r, V&& value) try {
  using sent = typename reply_body<R>::value;
  if constexpr (detail::is_hetero_argument<sent>) {
    pe.send(r.pe,
            reply_body<R>{r, outcome<sent>(std::in_place_index<0>,
                                           detail::departing_result<sent>(r.pe == pe.id(), std::forward<V>(value)))},
            priorities::communication);
  } else {
    pe.send(r.pe, reply_body<R>{r, outcome<sent>(std::in_place_index<0>, std::forward<V>(value))},
            priorities::communication);
  }
} catch (...) {
  send_failure<R>(pe, r, std::current_exception());
}

/// Says no with a `usage_error`: as the answer if one is wanted, else to the job.
template <class R>
void refuse(scheduler& pe, const reply_to& r, std::string why) {
  chare_pe::of(pe).count_refused();
  if (!r.wanted()) throw usage_error(why);
  failure f;
  f.kind = "usage";
  f.what = std::move(why);
  pe.send(r.pe, reply_body<R>{r, outcome<typename reply_body<R>::value>(std::in_place_index<1>, std::move(f))},
          priorities::communication);
}

namespace detail {

/// An entry method threw: tells who called it, or ends the job.
template <class R>
void fail(scheduler& pe, const element_base* e, const char* name, const reply_to& reply, std::exception_ptr thrown) {
  if (reply.wanted()) {
    send_failure<R>(pe, reply, std::move(thrown));
  } else {
    chare_pe::of(pe).fail_method(e, name, std::move(thrown));
  }
}

/// The end of a coroutine entry method with result R.
template <class R>
void conclude_entry(scheduler& pe, entry_activity& a) {
  using promise = task_promise<R>;
  auto& p = std::coroutine_handle<promise>::from_address(a.frame.address()).promise();
  if constexpr (!std::is_void_v<R>) {
    if (a.reply.wanted()) static_cast<void>(p.has_value());
  }
  if (p.failure) {
    fail<R>(pe, a.element(), a.name, a.reply, std::exchange(p.failure, nullptr));
    return;
  }
  if (!a.reply.wanted()) return;
  if constexpr (std::is_void_v<R>) {
    send_reply<R>(pe, a.reply, std::monostate{});
  } else {
    send_reply<R>(pe, a.reply, p.take());
  }
}

}  // namespace detail

namespace detail {

/// What reports and traces call entry E, called with `arguments`, of `e`; or of element `i` of `array`.
template <class E, class Args>
const char* shown_name(const element_base& e, const Args& arguments) {
  if constexpr (names_entry<E, Args>) {
    return entry_name_of<E>(e.part->name_of(e), arguments);
  } else {
    return E::name();
  }
}
template <class E, class Index, class Args>
const char* shown_name(scheduler& pe, collection_id array, const Index& i, const Args& arguments) {
  if constexpr (names_entry<E, Args>) {
    array_part<Index>* const part = find_part<Index>(pe, array);
    return entry_name_of<E>(part != nullptr ? part->name_of_index(i) : class_name<typename E::chare_type>(), arguments);
  } else {
    return E::name();
  }
}

}  // namespace detail

/// Calls the entry method on an element that lives here, all of whose data have arrived. Arguments are moved out of
/// `args`.
template <class E, class Args>
[[gnu::always_inline]] inline void invoke_now(scheduler& pe, element_base& e, Args& args, const reply_to& reply) {
  using C = typename E::class_type;
  using R = typename E::result;
  C& object = *static_cast<C*>(e.object);
  const actor_turn turn(pe, &e);
  const char* const name = detail::shown_name<E>(e, args);
  pe.does(name);
  std::exception_ptr thrown;  // passed on after the handler, which holds a reference too
  try {
    if constexpr (E::kind == entry_kind::slot) {
      static_cast<void>(&detail::registered_slot<E>::one);
      std::apply([&](auto&... a) { (object.*E::method).arrive(name, detail::arrived(a)...); }, args);
    } else if constexpr (E::kind == entry_kind::coroutine) {
      auto t = std::apply([&](auto&... a) { return (object.*E::method)(detail::arrived(a)...); }, args);
      entry_activity::start(pe, &e, name, std::move(t), reply, &detail::conclude_entry<R>);
    } else if constexpr (std::is_void_v<R>) {
      std::apply([&](auto&... a) { (object.*E::method)(detail::arrived(a)...); }, args);
      if (reply.wanted()) send_reply<R>(pe, reply, std::monostate{});
    } else {
      R result = std::apply([&](auto&... a) -> R { return (object.*E::method)(detail::arrived(a)...); }, args);
      if (reply.wanted()) send_reply<R>(pe, reply, std::move(result));
    }
    return;
  } catch (...) {
    thrown = std::current_exception();
  }
  detail::fail<R>(pe, &e, name, reply, std::move(thrown));
}

/// A GPU message whose data are arriving: the chare's post method, if it has one, says where they go; when all are
/// there the entry method is called.
template <class E, class Args>
class device_arrival {
  static_assert(!detail::has_hetero_arguments<Args>,
                "imbrex: a device_view and a hetero_object do not travel in one message: send two");

 public:
  static void start(scheduler& pe, element_base& e, Args& args, const reply_to& reply) {
    auto* self = new device_arrival(pe, e, std::move(args), reply);
    try {
      int which = 0;
      detail::for_each_device_view(self->args_, [&](auto& view) { self->receive(view, which++); });
    } catch (...) {
      self->thrown_ = std::current_exception();  // told when nothing is on its way any more to memory that this keeps
    }
    self->one_has_arrived();
  }

 private:
  device_arrival(scheduler& pe, element_base& e, Args&& args, const reply_to& reply)
      : pe_(pe), element_(e), streams_(of(e).streams()), args_(std::move(args)), reply_(reply) {
    streams_.hold();  // the element stays, and does not end, until all is there
  }
  ~device_arrival() { streams_.let_go(); }

  using C = typename E::class_type;
  static C& of(element_base& e) { return *static_cast<C*>(e.object); }

  template <class T>
  void receive(device_view<T>& view, int which) {
    C& object = of(element_);
    const actor_turn turn(pe_, &element_);
    stream& s = streams_.unpack;
    const std::size_t size = view.size();
    auto place = std::apply(
        [&](auto&... others) {
          if constexpr (requires { object.post(for_entry<E::method>{}, others..., size); }) {
            return buffer_view<T>(object.post(for_entry<E::method>{}, others..., size));
          } else if constexpr (requires { object.post(for_entry<E::method>{}, others..., which, size); }) {
            return buffer_view<T>(object.post(for_entry<E::method>{}, others..., which, size));
          } else {
            static_cast<void>(which);
            return buffer_view<T>();
          }
        },
        others_);
    if (place.data != nullptr && place.size < size) {
      throw usage_error(fmt::format("a GPU message of {} elements came for a place of {}", size, place.size));
    }
    ++num_left_;
    detail::receive_data(view.message(), s, reinterpret_cast<std::byte*>(place.data),
                         [this, &view, &s](const std::byte* where) {
                           view.has_arrived(s, where);
                           one_has_arrived();
                         });
    view.is_answered();
  }

  void one_has_arrived() {
    if (--num_left_ > 0) return;
    if (thrown_) {
      detail::fail<typename E::result>(pe_, &element_, E::name(), reply_, std::move(thrown_));
    } else {
      invoke_now<E>(pe_, element_, args_, reply_);
    }
    delete this;
  }

  scheduler& pe_;
  element_base& element_;
  stream_set& streams_;
  Args args_;
  decltype(detail::other_arguments(std::declval<Args&>())) others_ = detail::other_arguments(args_);
  const reply_to reply_;
  std::exception_ptr thrown_;
  int num_left_ = 1;
};

/// Calls the entry method on an element that lives here, at once or when the data of its device_views have arrived.
template <class E, class Args>
[[gnu::always_inline]] inline void invoke(scheduler& pe, element_base& e, Args& args, const reply_to& reply) {
  if constexpr (detail::has_device_views<Args>) {
    device_arrival<E, Args>::start(pe, e, args, reply);
  } else {
    invoke_now<E>(pe, e, args, reply);
  }
}

/// What all that invokes methods of an element knows of its way (`bring_to_element`).
template <class Index>
struct element_message {
  collection_id array;
  Index index{};
  pe_id from = no_pe;
  std::int8_t level = 0;
  std::uint32_t after = 0;  ///< how many broadcasts to the array the sender's PE began before, with this level

  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & from & level & after;
  }

  /// It goes on to PE `next`: the sender hears where the element is, or that it has ended.
  void leaves(scheduler& pe, array_part<Index>& part, const element<Index>& e, pe_id next) {
    follows_broadcasts_of(pe, part);
    if (from != no_pe && from != pe.id() && next == e.where)
      pe.send(from, location_update<Index>{array, index, e.where, e.epoch, e.state == presence::deleted},
              priorities::communication);
  }
  /// It was to stay on the sender's PE, and does not.
  void follows_broadcasts_of(const scheduler& pe, collection& part) {
    if (from == pe.id()) after = part.broadcasts().num_begun(level);
  }
  /// Where the element is: whether `self`, which this is part of, must wait, for a broadcast that was begun earlier and
  /// has not come here yet, or because the element may not run. Then it is performed once more.
  template <class Body>
  bool waits(scheduler& pe, array_part<Index>& part, element<Index>& e, Body& self) {
    if (after != 0) {
      const broadcast_id earlier{broadcast_id::stream_of(from, level), after};
      if (!part.broadcasts().has_taken(earlier)) {
        pe.count_created();  // performed a second time
        part.broadcasts().wait(earlier, self.once_more());
        return true;
      }
    }
    if (part.calm() || part.may_run(e)) [[likely]]
      return false;
    part.hold(e, self.once_more());
    return true;
  }
};

/// The message.
template <class E, class Index>
struct entry_body : element_message<Index> {
  using args_tuple = detail::travelling_args<typename E::args>;
  using element_message<Index>::array;
  using element_message<Index>::index;
  using element_message<Index>::level;

  entry_body() = default;
  template <class... A>
  entry_body(element<Index>* t, collection_id c, const Index& i, pe_id sender, priority p, const reply_to& r, A&&... a)
      : element_message<Index>{c, i, sender, static_cast<std::int8_t>(p.value)},
        target(t),
        reply(r),
        args(std::forward<A>(a)...) {
    if constexpr (detail::has_device_views<args_tuple>)
      detail::for_each_device_view(args, [](auto& v) { v.is_sent(); });
  }

  element<Index>* target = nullptr;  ///< known when the sender lives on the element's PE
  reply_to reply;
  args_tuple args;

  const char* name(scheduler& pe) const { return detail::shown_name<E>(pe, array, index, args); }
  static const char* when_read() { return E::name(); }
  static constexpr bool aggregated = [] {
    using C = typename E::class_type;
    if constexpr (requires { typename C::aggregated; }) {
      return C::aggregated::template contain<E::method>;
    } else {
      return false;
    }
  }();
  static constexpr bool may_part = detail::may_leave_out<args_tuple>;

  [[gnu::always_inline]] void operator()(scheduler& pe) {
    if (detail::waits_for_arrays(pe, *this, args)) return;
    if (target != nullptr && target->object != nullptr && target->part->calm()) [[likely]] {
      invoke<E>(pe, *target, args, reply);
      return;
    }
    find(pe);
  }

  template <class Archive>
  void serialize(Archive& ar) {
    element_message<Index>::serialize(ar);
    ar & reply& beside(args);
  }

  /// \name On its way (`bring_to_element`)
  ///@{
  void at(scheduler& pe, array_part<Index>& part, element<Index>& e) {
    if constexpr (!std::is_same_v<Index, no_index>) {
      if (this->waits(pe, part, e, *this)) return;
    }
    invoke<E>(pe, e, args, reply);
  }
  void leaves(scheduler& pe, array_part<Index>& part, const element<Index>& e, pe_id next) {
    if constexpr (!std::is_same_v<Index, no_index>) element_message<Index>::leaves(pe, part, e, next);
    leave_pe();
  }
  void leave_pe() {
    target = nullptr;
    detail::leave_pe(args);
  }
  void nowhere(scheduler& pe, array_part<Index>& part, element<Index>* e) {
    if constexpr (std::is_same_v<Index, no_index>) {
      part.was_made(index) ? refuse_deleted(pe, part) : part.hold(part.record(index), once_more());
    } else {
      this->follows_broadcasts_of(pe, part);
      // Lent memory does not wait for an element to come again: quiescence, and so the end, would wait for it.
      const bool waits = !chare_pe::of(pe).refuses_held() && !detail::has_device_views<args_tuple>;
      e->state == presence::deleted && !waits ? refuse_deleted(pe, part) : part.hold(*e, once_more());
    }
  }
  /// It could not go on: whoever called is told.
  [[gnu::cold]] void fails(scheduler& pe, std::exception_ptr why) const {
    if (reply.wanted()) {
      send_failure<typename E::result>(pe, reply, std::move(why));
    } else {
      chare_pe::of(pe).fail_message(name(pe), to_text(index), std::move(why));
    }
  }
  [[gnu::noinline]] work* once_more() { return active_message<entry_body>::make(priority(level), std::move(*this)); }
  ///@}

 private:
  /// Apart, so that the way above needs no registers for it.
  [[gnu::noinline]] void find(scheduler& pe) {
    if constexpr (detail::has_device_views<args_tuple>) {
      const pe_id next = next_stop(pe, array, index);
      if (next != no_pe && !pe.rank().is_local(next)) return pack_first(std::make_shared<entry_body>(std::move(*this)));
    }
    bring_to_element<Index>(pe, *this);
  }
  /// To another process after all: what only this one's devices read goes along.
  static void pack_first(std::shared_ptr<entry_body> rest) {
    scheduler& pe = scheduler::current();
    channel_message* lent = nullptr;
    detail::for_each_device_view(rest->args, [&](auto& v) {
      if (v.message().lent.on != nullptr) lent = &v.message();
    });
    if (lent == nullptr) return bring_to_element<Index>(pe, *rest);
    pack(std::move(*lent), *pe.mover, *pe.default_device, [rest, lent](channel_message&& packed) {
      *lent = std::move(packed);
      pack_first(rest);
    });
  }

  void refuse_deleted(scheduler& pe, const collection& part) {
    refuse<typename E::result>(pe, reply, detail::deleted_text(name(pe), part.chare_name(), to_text(index)));
  }
};

/// False when nothing is queued in, or arriving at, the streams of `e`, which lives here. Else `body` is sent to this
/// PE again once that is so.
template <class H>
bool wait_for_streams(scheduler& pe, element_base& e, const H& body) {
  stream_set* const streams = chare_access::streams(*e.object);
  if (streams == nullptr || streams->idle()) return false;
  streams->when_idle([&pe, body] { pe.send(pe.id(), body, priorities::communication); });
  return true;
}

namespace detail {

/// Sends a message with device_views to another process, when their data are ready.
template <class Body>
void depart(pe_id to, Body&& body, priority p) {
  stream* last = nullptr;
  for_each_device_view(body.args, [&](auto& view) {
    stream* const s = view.sender_stream();
    if (s == nullptr) throw usage_error("an empty device_view was sent: construct it with elements and a stream");
    if (last != nullptr) s->after(*last);
    prepare_departure(view.message(), *s);
    last = s;
  });
  last->then_reading("send", [to, p, message = std::forward<Body>(body)]() mutable {
    for_each_device_view(message.args, [](auto& view) { offer_data(view.message(), *view.sender_stream()); });
    scheduler::current().send(to, std::move(message), p);
  });
}

}  // namespace detail

/// Sends an invocation of entry E to element `i` of collection `c`, wherever it is.
template <class E, class Index, class... A>
void send_entry(scheduler& pe, collection_id c, const Index& i, priority p, const reply_to& reply, A&&... a);

namespace detail {

/// The same for arguments with objects, which depart differently for where the element is.
template <class E, class Index, class Args>
void send_objects(scheduler& pe, collection_id c, const Index& i, priority p, const reply_to& reply, bool is_here,
                  Args args) {
  is_here ? stay_on_pe(args) : leave_pe(args);
  std::apply([&](auto&... a) { send_entry<E>(pe, c, i, p, reply, std::move(a)...); }, args);
}

}  // namespace detail

/// The same for a singleton.
template <class E, class... A>
void send_to_single(scheduler& pe, collection_id c, const no_index& i, priority p, const reply_to& reply, A&&... a) {
  using body = entry_body<E, no_index>;
  const pe_id to = find_part<no_index>(pe, c)->next_stop_to(i);
  if constexpr ((detail::is_hetero_object<std::remove_cvref_t<A>> || ...)) {
    detail::send_objects<E>(pe, c, i, p, reply, to == pe.id(), typename body::args_tuple(std::forward<A>(a)...));
  } else {
    if (pe.observer != nullptr) [[unlikely]]
      detail::note_message(std::type_identity<typename E::args>{}, pe, c, i, a...);
    if (to == pe.id()) {  // found once more when its turn comes: nothing is kept of one that has ended by then
      pe.send_here<body>(p, nullptr, c, i, pe.id(), p, reply, std::forward<A>(a)...);
      return;
    }
    body message(nullptr, c, i, pe.id(), p, reply, std::forward<A>(a)...);
    if constexpr (detail::has_device_views<typename E::args>) {
      if (!pe.rank().is_local(to)) {
        detail::depart(to, std::move(message), p);
        return;
      }
    }
    pe.send(to, std::move(message), p);
  }
}

template <class E, class Index, class... A>
void send_entry(scheduler& pe, collection_id c, const Index& i, priority p, const reply_to& reply, A&&... a) {
  using body = entry_body<E, Index>;
  if constexpr (std::is_same_v<Index, no_index>) {
    send_to_single<E>(pe, c, i, p, reply, std::forward<A>(a)...);
    return;
  }
  array_part<Index>* part = find_part<Index>(pe, c);
  element<Index>* e = part != nullptr ? &part->record(i) : nullptr;
  if constexpr ((detail::is_hetero_object<std::remove_cvref_t<A>> || ...)) {
    detail::send_objects<E>(pe, c, i, p, reply, e == nullptr || e->object != nullptr,
                            typename body::args_tuple(std::forward<A>(a)...));
  } else {
    if (pe.observer != nullptr) [[unlikely]]
      detail::note_message(std::type_identity<typename E::args>{}, pe, c, i, a...);
    if (e == nullptr || e->object != nullptr) [[likely]] {  // here, or held until the collection is known
      pe.send_here<body>(p, e, c, i, pe.id(), p, reply, std::forward<A>(a)...);
      return;
    }
    body message(nullptr, c, i, pe.id(), p, reply, std::forward<A>(a)...);
    message.after = part->broadcasts().num_begun(p.value);
    if constexpr (detail::has_device_views<typename E::args>) {
      if (!pe.rank().is_local(e->where)) {
        detail::depart(e->where, std::move(message), p);
        return;
      }
    }
    pe.send(e->where, std::move(message), p);
  }
}

}  // namespace imbrex
