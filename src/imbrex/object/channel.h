#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "imbrex/comm/data/channel_end.h"
#include "imbrex/comm/data/channel_send.h"
#include "imbrex/device/buffer.h"
#include "imbrex/object/chare.h"
#include "imbrex/object/data/port_table.h"

namespace imbrex {

namespace detail {

/// A channel's message on its way to the element that holds the other end.
template <class Index>
struct channel_body {
  collection_id array;
  Index index{};
  std::int32_t port = 0;
  pe_id from = no_pe;
  channel_message message;

  void operator()(scheduler& pe) { bring_to_element<Index>(pe, *this); }
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
    } else if (!message.hello.known()) {  // else nobody is left to be told
      throw usage_error(fmt::format("a channel message was sent to {}, which has been deleted", part.text(*e)));
    }
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & port & from & message;
  }
};

/// One end of a channel as the sender needs it: knows the other end.
struct channel_link : port_end {
  using port_end::port_end;
  virtual void post(scheduler& pe, channel_message&& m) = 0;
  /// In a process: the point after what is enqueued on `s`, for whoever is thought to read.
  virtual event record_for_reader(scheduler& pe, stream& s) const = 0;

  /// Sends `m` from memory of the host, or of a device when it is ready there, to another process: with the data, or
  /// with word of where they are.
  void post_to_process(scheduler& pe, channel_message&& m, const data_view& from, remote_data::path by) {
    if (by == remote_data::path::whole)
      m.remote = mover()->send_whole(peer().rank, peer().pe, from, std::move(m.lent), goes_to_host());
    post(pe, std::move(m));
  }
  /// The same from memory of a device, ready or not, through pinned memory in the order of `s`.
  void send_chunks(scheduler& pe, channel_message&& m, stream& s) {
    m.remote = mover()->send_chunks(peer().rank, peer().pe, s, std::move(m.lent), goes_to_host());
    post(pe, std::move(m));
  }
  remote_data::path way(memory_kind here, std::uint64_t bytes) const {
    if (!peer().known()) return remote_data::path::none;
    return mover()->choose(here, bytes, peer().rank, peer().kind);
  }

  /// Whether the other end is known to receive into memory of the host.
  bool goes_to_host() const { return peer().known() && peer().kind != memory_kind::device; }

  int references = 0;
};

/// Shares one end among its channel, the sends that still stand in streams, and whoever waits to receive: it lives as
/// long as any of them. On the end's PE only, so that counting costs an addition.
class channel_link_ref {
 public:
  channel_link_ref() = default;
  explicit channel_link_ref(channel_link* l) : link_(l) {
    if (link_ != nullptr) ++link_->references;
  }
  channel_link_ref(const channel_link_ref& other) : channel_link_ref(other.link_) {}
  channel_link_ref(channel_link_ref&& other) noexcept : link_(std::exchange(other.link_, nullptr)) {}
  channel_link_ref& operator=(channel_link_ref other) noexcept {
    std::swap(link_, other.link_);
    return *this;
  }
  ~channel_link_ref() {
    if (link_ != nullptr && --link_->references == 0) delete link_;
  }
  channel_link* operator->() const { return link_; }
  channel_link& operator*() const { return *link_; }
  explicit operator bool() const { return link_ != nullptr; }

 private:
  channel_link* link_ = nullptr;
};

template <class Index>
struct channel_link_to final : channel_link {
  channel_link_to(std::string name, std::uint64_t type, std::uint32_t size, data_mover* mover, collection_id a, Index i,
                  int p)
      : channel_link(std::move(name), type, size, mover), array(a), index(std::move(i)), peer_port(p) {}
  void post(scheduler& pe, channel_message&& m) override {
    array_part<Index>* part = find_part<Index>(pe, array);
    const pe_id to = part != nullptr ? part->record(index).where : pe.id();
    pe.send(to, channel_body<Index>{array, index, peer_port, pe.id(), std::move(m)}, priorities::communication);
  }
  bool stays_in_process(scheduler& pe) const override {
    array_part<Index>* part = find_part<Index>(pe, array);
    return part == nullptr ? pe.rank().num_ranks == 1 : pe.rank().is_local(part->record(index).where);
  }
  event record_for_reader(scheduler& pe, stream& s) const override {
    array_part<Index>* part = find_part<Index>(pe, array);
    if (part == nullptr || pe.gpus.empty()) return s.record();
    const auto reader = static_cast<std::size_t>(part->record(index).where - pe.rank().first_pe());
    const auto its_gpu = static_cast<std::size_t>(pe.rank().gpu_of_pe[reader]);
    return pe.gpus[its_gpu]->number() == s.on().number() ? s.record() : s.record_for_others();
  }
  collection_id array;
  Index index;
  std::int32_t peer_port;
};

}  // namespace detail

/// A message of a channel, read where it is: in the sender's memory if that is in this process, else in memory aligned
/// to 64 bytes. Destroying it gives that memory back, so keep it just as long as needed: until what reads it has been
/// enqueued on the stream that it was borrowed for; of one borrowed without a stream, until the host has read it.
template <class T>
class received {
 public:
  received() = default;
  received(channel_message&& m, stream* reader) : message_(std::move(m)), reader_(reader) {}
  received(received&&) noexcept = default;
  received& operator=(received&& other) noexcept {
    give_back();
    message_ = std::move(other.message_);
    reader_ = other.reader_;
    return *this;
  }
  ~received() { give_back(); }
  const T* data() const { return reinterpret_cast<const T*>(message_.data()); }
  std::size_t size() const { return message_.bytes() / sizeof(T); }

 private:
  void give_back() { message_.give_back(reader_); }

  channel_message message_;
  stream* reader_ = nullptr;
};

/// A two-sided, ordered path between two chares for elements of type T, typed by memory kind when it is made (Choi et
/// al. 2022, II-B). Each chare makes its own end as a member, naming the other chare and the port numbers of both ends;
/// one port serves one channel. Messages are received in the order in which they were sent.
/// Inside a process nothing is copied on the way: the receiver reads the sender's memory. A channel inside a process
/// moves with its chares; those of a channel between processes stay where they are while it is open. What was sent
/// before a channel is closed (destroyed, or assigned another) still goes out; a receive that waits then is a
/// `usage_error`. The port may serve another channel once all that came for it has been received.
template <class T>
class channel {
  static_assert(std::is_trivially_copyable_v<T>, "imbrex: a channel carries trivially copyable elements");

 public:
  channel() = default;
  /// The end of `self` (pass `*this`) at its port `port`, connected to port `peer_port` of `peer`, for memory of that
  /// kind: `memory_kind::device` is what the chare's device allocates (`kind_on`), with GPUs and without.
  template <class Self, class C>
  channel(Self& self, const element_proxy<C>& peer, int port, int peer_port, memory_kind kind = memory_kind::host)
      : kind_(kind_on(*scheduler::current().default_device, kind)) {
    using Index = typename C::index_type;
    element_base& e = chare_access::element(self);
    scheduler& pe = scheduler::current();
    auto link = std::make_unique<detail::channel_link_to<Index>>(
        fmt::format("the channel at port {} of {}", port, e.part->text(e)), hash_bytes(detail::pretty_type<T>()),
        sizeof(T), pe.mover.get(), peer.array_id(), peer.index(), peer_port);
    link->self = &e;
    link->port = port;
    e.ports().open(port, link.get());
    if (pe.mover != nullptr && !link->stays_in_process(pe)) {
      channel_message m;
      m.hello = {pe.rank().rank, pe.id(), kind_};
      link->post(pe, std::move(m));
    }
    link_ = detail::channel_link_ref(link.release());
  }
  channel(channel&&) noexcept = default;
  channel& operator=(channel&& other) noexcept {
    if (this == &other) return *this;
    close();
    link_ = std::move(other.link_);
    kind_ = other.kind_;
    return *this;
  }
  ~channel() { close(); }

  bool is_open() const { return static_cast<bool>(link_); }

  /// Sends the elements of `view` as they are when stream `s` comes to this point. Returns at once. The memory is lent:
  /// do not write to it before the result has been awaited or the receiver is known to have read it. From GPU to GPU of
  /// a process the message goes ahead of the data: it carries an event, and no host waits for it; so it does to a GPU
  /// of another process of the machine. Elsewhere the data go as `data_mover::choose` says, when they are ready. Throws
  /// `usage_error` for memory of another kind than the channel's.
  channel_send send(buffer_view<const T> view, stream& s) {
    check(kind_on(s.on(), view.kind));
    lent_state* state = lent_state::make(&link_->self->ties());
    channel_message m;
    m.sequence = link_->next_sequence();
    m.element_type = link_->element_type();
    m.element_bytes = sizeof(T);
    m.lent = lent_buffer(reinterpret_cast<const std::byte*>(view.data), view.bytes(), state);
    scheduler& pe = scheduler::current();
    if (pe.rank().check_races) [[unlikely]]
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
    s.then("send", [link = link_, message = std::move(m)]() mutable {
      scheduler& here = scheduler::current();
      if (link->mover() == nullptr || link->stays_in_process(here)) {
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
  /// of every kind.
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
      s.then("send", [link = link_, on = &s.on(), message = std::move(m)]() mutable {
        const data_view from{const_cast<std::byte*>(message.data()), message.bytes(), memory_kind::device,
                             on->number()};
        link->post_to_process(scheduler::current(), std::move(message), from, path::whole);
      });
    } else {
      link_->send_chunks(scheduler::current(), std::move(m), s);
    }
  }
  // In the message itself: copied to the host in stream order, sent when it is there.
  void send_packed(channel_message&& m, stream& s) {
    buffer<std::byte> on_host(s.on(), m.bytes(), memory_kind::pinned);
    s.copy(on_host.data(), m.data(), m.bytes());
    s.then("send", [link = link_, from = std::move(on_host), message = std::move(m)]() mutable {
      message.copied.assign(from.data(), from.data() + from.size());
      message.lent = lent_buffer();  // gives the sender's memory back
      link->post(scheduler::current(), std::move(message));
    });
  }
  void check(memory_kind given) const {
    if (!link_)
      throw usage_error("a channel was used that is not connected: construct it with the two chares and ports");
    if (given != kind_ && (given == memory_kind::device || kind_ == memory_kind::device)) {
      throw usage_error(fmt::format("{} is made for {} memory, but was given {} memory", link_->name(),
                                    to_string(kind_), to_string(given)));
    }
  }

  detail::channel_link_ref link_;
  memory_kind kind_ = memory_kind::host;
};

}  // namespace imbrex
