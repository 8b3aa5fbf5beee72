#pragma once

#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "imbrex/comm/data/channel_end.h"
#include "imbrex/comm/data/channel_send.h"
#include "imbrex/comm/data/lent_copy.h"
#include "imbrex/device/buffer.h"
#include "imbrex/object/channel/channel_link.h"
#include "imbrex/object/channel/link_kind.h"
#include "imbrex/object/chare.h"
#include "imbrex/object/collection/element_traffic.h"

namespace imbrex {

/// A message of a channel, read where it is: in the sender's memory if that is in this process, else in memory aligned
/// to 64 bytes. Destroying it gives that memory back, so keep it just as long as needed: until what reads it has been
/// enqueued on the stream that it was borrowed for; of one borrowed without a stream, until the host has read it. One
/// that is kept is nothing under way: the job may become quiet, and end.
template <class T>
class received {
 public:
  received() = default;
  received(channel_message&& m, stream* reader) : message_(std::move(m)), reader_(reader) {
    if (message_.holds_memory_of_others()) --executor::current()->operations;
  }
  received(received&&) noexcept = default;
  received& operator=(received&& other) noexcept {
    give_back();
    message_ = std::move(other.message_);
    reader_ = other.reader_;
    return *this;
  }
  ~received() {
    try {
      give_back();
    } catch (...) {  // the device has failed
      scheduler::current().fail_body("a message that was borrowed", std::current_exception());
    }
  }
  const T* data() const { return reinterpret_cast<const T*>(message_.data()); }
  std::size_t size() const { return message_.bytes() / sizeof(T); }
  /// Whether all that was sent there had been read before this was sent: what follows it in the stream that it was
  /// borrowed for may write to that memory.
  bool is_answer() const { return message_.is_answer; }
  /// It is given back in the order of `s`, another stream than it was borrowed for, which then is what reads it.
  void is_read_by(stream& s) { reader_ = &s; }

 private:
  void give_back() {
    if (message_.holds_memory_of_others()) ++executor::current()->operations;
    message_.give_back(reader_);
  }

  channel_message message_;
  stream* reader_ = nullptr;
};

/// A two-sided, ordered path between two chares for elements of type T, typed by memory kind when it is made (Choi et
/// al. 2022, II-B). Each chare makes its own end, naming the other chare and the port numbers of both ends; one port
/// serves one channel at a time. Messages are received in the order in which they were sent.
/// Inside a process nothing is copied on the way: the receiver reads the sender's memory. A channel moves with its
/// chares, open as it is. In another process a chare is made anew, and the channel goes on where it was at its first
/// port that is opened again: by the default constructor, as it was made at first; by `serialize`, where that names the
/// channel; or later. What was sent before a channel is closed (destroyed, or assigned another) still goes out; a
/// receive that waits then is a `usage_error`. The port may then serve the next channel, to the same chare or another;
/// what the other end of that sends earlier waits for it. Of the ends that two chares open for each other at a port one
/// after another, each that sends is received from by one.
template <class T>
class channel {
  static_assert(std::is_trivially_copyable_v<T>, "imbrex: a channel carries trivially copyable elements");

 public:
  channel() = default;
  /// The end of `self` (pass `*this`) at its port `port`, connected to port `peer_port` of `peer`, for memory of that
  /// kind: `memory_kind::device` is what the chare's device allocates (`kind_on`), with GPUs and without. Throws
  /// `usage_error` for a port that is in use, and for an element outside the extent of its array.
  template <class Self, class C>
  channel(Self& self, const element_proxy<C>& peer, int port, int peer_port, memory_kind kind = memory_kind::host)
      : made_for_(kind) {
    using Index = typename C::index_type;
    element_base& e = chare_access::element(self);
    open(e, port,
         new detail::channel_link_to<Index>(end_name(e, port), element_type, sizeof(T),
                                            scheduler::of_caller().mover.get(), peer.array_id(), peer.index(),
                                            peer_port));
  }
  channel(channel&&) noexcept = default;
  channel& operator=(channel&& other) noexcept {
    if (this == &other) return *this;
    close();
    link_ = std::move(other.link_);
    made_for_ = other.made_for_;
    kind_ = other.kind_;
    return *this;
  }
  ~channel() { close(); }

  /// In the state of a chare that goes to another process, or to a checkpoint: which channel it is. Read back it is
  /// open, at the port that it had; one that the constructor has opened there already stays as it is.
  template <class Archive>
    requires(Archive::moves_state)
  void serialize(Archive& ar) {
    bool open_there = is_open();
    ar & open_there;
    if constexpr (Archive::is_loading) {
      if (!open_there) return close();
      detail::link_address address;
      memory_kind made_for{};
      ar & address & made_for;
      if (!link_ || link_->address() != address) open_again(address, made_for);
    } else {
      if (!open_there) return;
      detail::link_address address = link_->address();
      ar & address & made_for_;
    }
  }

  bool is_open() const { return static_cast<bool>(link_); }
  /// The calling PE's handle of the GPU that the other chare has, where that is in this process and has one; else null.
  device* device_of_reader() const { return link_->device_of_reader(scheduler::current()); }

  /// Sends the elements of `view` as they are when stream `s` comes to this point. Returns at once. The memory is lent:
  /// do not write to it before the result has been awaited or the receiver is known to have read it. From GPU to GPU of
  /// a process the message goes ahead of the data: it carries an event, and no host waits for it; so it does to a GPU
  /// of another process of the machine. Elsewhere the data go as `data_mover::choose` says, when they are ready. Throws
  /// `usage_error` for memory of another kind than the channel's.
  channel_send send(buffer_view<const T> view, stream& s) { return send(view, s, false); }
  /// The same. `is_answer` tells the receiver that all it has sent on this channel has been given back before, in the
  /// order of `s`, so that it need not hear of that otherwise (`received::is_answer`).
  channel_send send(buffer_view<const T> view, stream& s, bool is_answer) {
    scheduler& pe = scheduler::of_caller();
    check(kind_on(s.on(), view.kind));
    lent_state* state = lent_state::make(&link_->self->ties());
    channel_message m;
    link_->sign(m, view.bytes());
    m.element_type = link_->element_type();
    m.element_bytes = sizeof(T);
    m.is_answer = is_answer;
    m.lent = lent_buffer(reinterpret_cast<const std::byte*>(view.data), view.bytes(), state);
    if (kind_ == memory_kind::device && link_->sends_copies() && !lent_copy::replace(m.lent, s)) [[unlikely]] {
      send_packed(std::move(m), s);
      return channel_send(state, s);
    }
    if (pe.rank().check_races && !m.lent.is_copy()) [[unlikely]]
      m.lent.checked = race_check::as_sent(link_->name(), view.data, view.bytes(), kind_, s);
    if (kind_ == memory_kind::device) {
      if (link_->stays_in_process(pe)) {
        m.lent.on = &s.on();
        m.lent.ready = link_->record_for_reader(pe, s);
        link_->post(pe, std::move(m));
      } else {
        send_from_device(std::move(m), s);
      }
      return channel_send(state, s);
    }
    s.then_reading("send", [link = link_, message = std::move(m)]() mutable {
      scheduler& here = scheduler::current();
      const bool is_copied = link->sends_copies();
      if (is_copied) [[unlikely]]
        copy_lent(message);
      if (link->mover() == nullptr || is_copied || link->stays_in_process(here)) {
        link->post(here, std::move(message));
        return;
      }
      const data_view from{const_cast<std::byte*>(message.data()), message.bytes(), memory_kind::host, -1};
      link->post_to_process(here, std::move(message), from, link->way(memory_kind::host, from.bytes));
    });
    return channel_send(state, s);
  }

  class receive : public channel_receive {
   public:
    receive(detail::channel_link_ref end, buffer_view<T> view, stream& s) : end_(std::move(end)) {
      to = view.data;
      capacity = view.bytes();
      kind = view.kind;
      in_order_of = &s;
    }
    ~receive() { leave(*end_); }
    bool await_ready() { return ready(*end_); }
    void await_suspend(std::coroutine_handle<> h) { wait(*end_, h); }
    std::size_t await_resume() {
      finish();
      return received / sizeof(T);
    }

   private:
    detail::channel_link_ref end_;
  };
  struct [[nodiscard]] receive_wait {
    detail::channel_link_ref end;
    buffer_view<T> view;
    stream* in_order_of;
    receive operator co_await() const { return receive(end, view, *in_order_of); }
  };

  class [[nodiscard]] borrow_awaiter : public channel_receive {
   public:
    borrow_awaiter(detail::channel_link_ref end, memory_kind k, stream* s) : end_(std::move(end)) {
      keep = &message_;
      kind = k;
      in_order_of = s;
    }
    ~borrow_awaiter() { leave(*end_); }
    bool await_ready() { return ready(*end_); }
    void await_suspend(std::coroutine_handle<> h) { wait(*end_, h); }
    imbrex::received<T> await_resume() {
      finish();
      return imbrex::received<T>(std::move(message_), in_order_of);
    }

   private:
    detail::channel_link_ref end_;
    channel_message message_;
  };
  struct [[nodiscard]] borrow_wait {
    detail::channel_link_ref end;
    memory_kind kind;
    stream* in_order_of;
    borrow_awaiter operator co_await() const { return borrow_awaiter(end, kind, in_order_of); }
  };

  /// `received<T> r = co_await c.borrow(s)`: the next message, without any copy where its memory is reached. What is
  /// enqueued on `s` while `r` lives may read it; it goes back when `s` has come to where `r` was destroyed. For memory
  /// of every kind: of host memory's a GPU's stream may copy from, which is pinned where it is the runtime's.
  borrow_wait borrow(stream& s) {
    check(kind_);
    return {link_, kind_, &s};
  }
  /// The same for the host to read at once, without a stream: it goes back when `r` is destroyed. For channels of host
  /// memory.
  borrow_wait borrow() {
    check(memory_kind::host);
    return {link_, memory_kind::host, nullptr};
  }

  /// `n = co_await c.recv(view, s)`: waits for the next message; what is enqueued on `s` from then on sees it at the
  /// front of `view`. Gives the number of elements. Several receives may wait; messages go to them in the order in
  /// which they were awaited. A message longer than the view, or of another type, is a `usage_error`.
  receive_wait recv(buffer_view<T> view, stream& s) {
    view.kind = kind_on(s.on(), view.kind);
    check(view.kind);
    return {link_, view, &s};
  }

 private:
  static constexpr std::uint64_t element_type = hash_bytes(detail::pretty_type<T>());

  static std::string end_name(const element_base& e, int port) {
    return fmt::format("the channel at port {} of {}", port, e.part->text(e));
  }
  void open(element_base& e, int port, detail::channel_link* l) {
    const detail::channel_link_ref link(l);
    scheduler& pe = scheduler::current();
    kind_ = kind_on(*pe.default_device, made_for_);
    link->self = &e;
    link->identity = identity_of(e);
    link->life = static_cast<std::uint32_t>(e.epoch >> 32);
    link->port = port;
    link->kind = kind_;
    link->introduce(pe, e.ports().open(port, l));
    link_ = link;
  }
  void open_again(const detail::link_address& a, memory_kind made_for) {
    scheduler& pe = scheduler::current();
    auto& e = static_cast<element_base&>(const_cast<actor&>(*pe.acting()));  // whose state is read
    close();
    made_for_ = made_for;
    open(e, a.port, detail::link_kind::make(end_name(e, a.port), element_type, sizeof(T), pe.mover.get(), a));
  }
  void close() {
    if (!link_) return;
    link_->self->ports().close(link_->port);
    link_->close(scheduler::current().stopping());
    link_ = {};
  }
  // The receiver is in another process.
  void send_from_device(channel_message&& m, stream& s) {
    using path = remote_data::path;
    const path by = data_mover::within_reach(link_->way(memory_kind::device, m.bytes()), s, m.data());
    if (by == path::none) {
      send_packed(std::move(m), s);
    } else if (remote_data there; by == path::shared && link_->mover()->share(link_->peer().rank, s, m.lent, there)) {
      m.remote = there;
      link_->post(scheduler::current(), std::move(m));  // ahead of its data, as inside a process
    } else if (by == path::whole) {
      s.then_reading("send", [link = link_, on = &s.on(), message = std::move(m)]() mutable {
        const data_view from{const_cast<std::byte*>(message.data()), message.bytes(), memory_kind::device,
                             on->number()};
        link->post_to_process(scheduler::current(), std::move(message), from, path::whole);
      });
    } else {
      link_->send_chunks(scheduler::current(), std::move(m), s);
    }
  }
  // In the message itself: copied to the host in stream order, sent when it is there.
  [[gnu::noinline]] void send_packed(channel_message&& m, stream& s) {
    buffer<std::byte> on_host(s.on(), m.bytes(), memory_kind::pinned);
    s.copy(on_host.data(), m.data(), m.bytes());
    s.then_reading("send", [link = link_, from = std::move(on_host), message = std::move(m)]() mutable {
      message.copied.assign(from.data(), from.data() + from.size());
      message.lent = lent_buffer();  // gives the sender's memory back
      link->post(scheduler::current(), std::move(message));
    });
  }
  void check(memory_kind given) const {
    if (!link_) detail::refuse_unconnected();
    if (given != kind_ && (given == memory_kind::device || kind_ == memory_kind::device)) {
      throw usage_error(fmt::format("{} is made for {} memory, but was given {} memory", link_->name(),
                                    to_string(kind_), to_string(given)));
    }
  }

  detail::channel_link_ref link_;
  memory_kind made_for_ = memory_kind::host;  // as was asked for
  memory_kind kind_ = memory_kind::host;      // what that is on this device
};

}  // namespace imbrex
