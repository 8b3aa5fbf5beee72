#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/object/channel.h"
#include "imbrex/object/halo/neighbours.h"

namespace imbrex {

namespace detail {
/// Throw `usage_error`.
[[noreturn]] void refuse_halo_neighbour(int number, std::size_t num_neighbours);
[[noreturn]] void refuse_halo_call(const char* call, const char* what_is_wrong);
[[noreturn]] void refuse_halo_size(int number, std::size_t given, std::size_t most);
}  // namespace detail

/// What a chare exchanges with its neighbours, again and again: a channel to each, memory for what goes there, and a
/// look at what has come from there. A round of each chare is
///
///     co_await faces.begin(s);                  // what is enqueued on s from now on may write out(i) ...
///     pack(faces.out(i), s);                    // ... and does
///     faces.send(s);                            // nothing waits
///     co_await faces.receive(s);                // another chare runs meanwhile; from now on s sees in(i)
///     update(field, faces.in(i), s);
///     faces.release();                          // the neighbours may have their memory back when s comes here
///
/// A kernel that reads in(i) and writes what is to be sent next stands between `receive` and `release`, with `begin` of
/// the next round before it and `send` behind it.
///
/// The memory for sending is there twice, so that a round needs not wait for the neighbours to have read the one
/// before; `begin` sees to it that they have read the one before that. Inside a process nothing is copied: in(i) is the
/// neighbour's out, between GPUs too, as it is between processes of a machine whose GPUs reach each other; else it is
/// memory of the runtime (`channel::borrow`). On the host device everything is host memory, with the same calls.
///
/// A member of its chare, and part of its `serialize` where it moves to other processes or is kept in checkpoints:
/// between rounds, or between `begin` and `send`. Read back it is connected as it was, whether or not the constructor
/// has connected it already. Streams given to it live as long as it does. Of the chare's PE. Calls
/// that are out of order, and neighbours that are not there, are a `usage_error`.
template <class T>
class halo {
 public:
  halo() = default;
  /// `memory_kind::device`: the memory of the chare's device. `memory_kind::pinned`: of the host, reached by it.
  explicit halo(memory_kind kind) : kind_(kind) {}

  /// One more neighbour of chare `self` (pass `*this`): `peer`, by a channel at these ports (`channel`). At most
  /// `num_elements` go there in a round. Gives its number, counted from 0.
  template <class Self, class C>
  int connect(Self& self, const element_proxy<C>& peer, int port, int peer_port, std::size_t num_elements) {
    link& l = links_.emplace_back();
    l.way = channel<T>(self, peer, port, peer_port, channel_kind());
    l.most = num_elements;
    make_room(l);
    return static_cast<int>(links_.size()) - 1;
  }
  /// The same of a neighbour in a grid (`neighbours`).
  template <class Self, class C, class Index>
  int connect(Self& self, const array_proxy<C>& array, const neighbour<Index>& n, std::size_t num_elements) {
    return connect(self, array[n.index], n.port, n.peer_port, num_elements);
  }
  /// How many neighbours there are.
  int size() const { return static_cast<int>(links_.size()); }

  /// A new round: what is enqueued on `s` from then on may write `out`. Waits only for neighbours that are two rounds
  /// behind.
  task<> begin(stream& s) { return begin_on(&s); }

  /// The memory for neighbour `i` in this round.
  buffer_view<T> out(int i) {
    check_begun("out");
    return at(i).out[parity()].view();
  }
  /// Sends what is in `out` of all neighbours when `s` comes here.
  void send(stream& s) {
    check_begun("send");
    for (link& l : links_) send_to(l, l.most, s);
    has_sent(s);
  }
  /// The first `counts[i]` elements for neighbour i: none at all is a message, too. Where one is too many nothing is
  /// sent.
  void send(const std::vector<std::size_t>& counts, stream& s) {
    if (counts.size() != links_.size()) detail::refuse_halo_call("send", "there must be a number for each neighbour");
    check_begun("send");
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > links_[i].most) detail::refuse_halo_size(static_cast<int>(i), counts[i], links_[i].most);
    }
    for (std::size_t i = 0; i < counts.size(); ++i) send_to(links_[i], counts[i], s);
    has_sent(s);
  }

  /// Waits until the messages of all neighbours are there; what is enqueued on `s` from then on sees `in`.
  task<> receive(stream& s) { return receive_on(&s); }
  /// The same of neighbour `i` alone. What has come that way `receive` does not wait for again.
  task<> receive(int i, stream& s) { return receive_one(i, &s); }

  /// What neighbour `i` has sent; for what is enqueued before `release` on the stream of `receive`.
  buffer_view<const T> in(int i) {
    link& l = at(i);
    if (!l.has_come) detail::refuse_halo_call("in", "nothing has been received from this neighbour");
    return {l.in.data(), l.in.size(), kind_on(*scheduler::current().default_device, kind_)};
  }
  /// Everything that was received goes back to the neighbours when the stream of `receive` comes here.
  void release() {
    for (link& l : links_) {
      l.in = received<T>();
      l.has_come = false;
    }
  }

  /// Rounds that have begun.
  std::uint64_t num_rounds() const { return num_rounds_; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & kind_ & num_rounds_ & is_begun_;
    std::uint64_t num_links = links_.size();
    ar & num_links;
    if constexpr (Archive::is_loading) {
      if (links_.size() != num_links) links_ = std::vector<link>(num_links);  // else the constructor has connected them
    }
    for (link& l : links_) {
      if (l.has_come) detail::refuse_halo_call("serialize", "what was received has not been released: call `release`");
      ar & l.way & l.most;
      if constexpr (Archive::is_loading) {
        if (l.out[0].size() != l.most) make_room(l);
      }
      if (is_begun_) ar & l.out[parity()];
    }
  }

 private:
  struct link {
    channel<T> way;
    std::uint64_t most = 0;
    std::array<buffer<T>, 2> out;
    std::array<std::optional<channel_send>, 2> sent;
    received<T> in;
    bool has_come = false;
  };

  link& at(int i) {
    if (i < 0 || i >= size()) detail::refuse_halo_neighbour(i, links_.size());
    return links_[static_cast<std::size_t>(i)];
  }
  /// Which of the two memories is this round's.
  std::size_t parity() const { return num_rounds_ % 2; }
  /// Channels know memory of devices and of hosts.
  memory_kind channel_kind() const { return kind_ == memory_kind::device ? kind_ : memory_kind::host; }
  void make_room(link& l) {
    device& d = *scheduler::current().default_device;
    for (buffer<T>& b : l.out) b = buffer<T>(d, l.most, kind_on(d, kind_));
  }

  task<> begin_on(stream* s) {
    if (is_begun_)
      detail::refuse_halo_call("begin", "what was to be sent in the round before has not been: call `send`");
    is_begun_ = true;
    ++num_rounds_;
    for (link& l : links_) {
      std::optional<channel_send>& sent = l.sent[parity()];
      if (!sent) continue;
      co_await *sent;
      sent.reset();
    }
    // Their reading comes before what their stream does next, and so it must for `s`.
    if (stream* const before = sent_on_[parity()]; before != nullptr && before != s) s->after(*before);
  }
  void check_begun(const char* call) const {
    if (!is_begun_) detail::refuse_halo_call(call, "no round has begun: `co_await` the result of `begin` first");
  }
  void send_to(link& l, std::size_t count, stream& s) {
    l.sent[parity()].emplace(l.way.send(buffer_view<const T>(l.out[parity()].view()).slice(0, count), s));
  }
  void has_sent(stream& s) {
    sent_on_[parity()] = &s;
    is_begun_ = false;
  }
  task<> receive_on(stream* s) {
    for (link& l : links_) {
      if (l.has_come) continue;
      l.in = co_await l.way.borrow(*s);
      l.has_come = true;
    }
  }
  task<> receive_one(int i, stream* s) {
    link& l = at(i);
    if (l.has_come) detail::refuse_halo_call("receive", "what came before has not been released: call `release`");
    l.in = co_await l.way.borrow(*s);
    l.has_come = true;
  }

  memory_kind kind_ = memory_kind::device;
  std::vector<link> links_;
  std::uint64_t num_rounds_ = 0;
  bool is_begun_ = false;
  std::array<stream*, 2> sent_on_{};
};

}  // namespace imbrex
