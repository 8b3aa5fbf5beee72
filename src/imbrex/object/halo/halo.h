#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/object/channel.h"
#include "imbrex/object/halo/halo_memory.h"
#include "imbrex/object/halo/halo_path.h"
#include "imbrex/object/halo/neighbours.h"

namespace imbrex {

namespace detail {
/// Throw `usage_error`.
[[noreturn]] void refuse_halo_neighbour(int number, std::size_t num_neighbours);
[[noreturn]] void refuse_halo_call(const char* call, const char* what_is_wrong);
[[noreturn]] void refuse_halo_size(int number, std::size_t given, std::size_t most);
[[noreturn]] void refuse_halo_message(std::size_t number, std::size_t expected, std::size_t came);
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
/// the next round before it and `send` behind it. Each call may name another stream; what one is to see of another is
/// the program's to say (`after`), as everywhere.
///
/// The memory for sending is there twice, so that a round needs not wait for the neighbours to have read the one
/// before; `begin` sees to it that they have read the one before that. Inside a process nothing is copied: in(i) is the
/// neighbour's out(k), between GPUs too, as it is between processes of a machine whose GPUs reach each other; else it
/// is memory of the runtime (`channel::borrow`). On which GPU it lies `halo_path` says. On the host device everything
/// is host memory, with the same calls.
///
/// A member of its chare, and part of its `serialize` where it moves to other processes or is kept in checkpoints:
/// between rounds, or between `begin` and `send`. Read back it is connected as it was, whether or not the constructor
/// has connected it already. Left out, it begins anew as the constructor makes it, its channels where they were.
/// Neighbours may read what was sent in the last round when that has ended here: a member lives long enough, what
/// lives in a coroutine does not. Streams given to it live as long as it does. Of the chare's PE. Calls that are out of
/// order, and neighbours that are not there, are a `usage_error`.
template <class T>
class halo {
 public:
  halo() = default;
  /// `memory_kind::device`: the memory of the chare's device. `memory_kind::pinned`: of the host, reached by it. `path`
  /// is of no account for host memory.
  explicit halo(memory_kind kind, halo_path path = halo_path::device) : kind_(kind), path_(path) {}

  /// One more neighbour of chare `self` (pass `*this`): `peer`, by a channel at these ports (`channel`). At most
  /// `num_elements` go there in a round. Gives its number, counted from 0.
  template <class Self, class C>
  int connect(Self& self, const element_proxy<C>& peer, int port, int peer_port, std::size_t num_elements) {
    link& l = links_.emplace_back();
    l.way = channel<T>(self, peer, port, peer_port, channel_kind());
    l.most = num_elements;
    lay_out();
    return static_cast<int>(links_.size()) - 1;
  }
  /// The same of a neighbour in a grid (`neighbours`).
  template <class Self, class C, class Index>
  int connect(Self& self, const array_proxy<C>& array, const neighbour<Index>& n, std::size_t num_elements) {
    return connect(self, array[n.index], n.port, n.peer_port, num_elements);
  }
  /// How many neighbours there are.
  int size() const { return static_cast<int>(links_.size()); }

  /// From the next round on `out[i]` elements go to neighbour i and `in[i]` come from there: both sides know, so that
  /// of none there is no message. Between rounds, when all that was sent to this chare has been received and released.
  void expect(const std::vector<std::size_t>& out, const std::vector<std::size_t>& in) {
    if (out.size() != links_.size() || in.size() != links_.size())
      detail::refuse_halo_call("expect", "there must be two numbers for each neighbour");
    if (is_begun_ || num_rounds_ != num_released_)
      detail::refuse_halo_call("expect", "a round is under way: call it after `release`, before `begin`");
    is_agreed_ = true;
    for (std::size_t i = 0; i < out.size(); ++i) {
      links_[i].most = out[i];
      links_[i].coming = in[i];
    }
    lay_out();
  }

  /// A new round: what is enqueued on `s` from then on may write `out`. Waits only for neighbours that are two rounds
  /// behind.
  task<> begin(stream& s) { return begin_on(&s); }

  /// The memory for neighbour `i` in this round: aligned to 64 bytes, unless the neighbours' numbers are agreed upon.
  buffer_view<T> out(int i) {
    check_begun("out");
    return out_of(at(i));
  }
  /// That for all neighbours whose numbers are agreed upon (`expect`): one after the other, without gaps.
  buffer_view<T> out() {
    check_begun("out");
    if (!is_agreed_) detail::refuse_halo_call("out", "the numbers are not agreed upon: call `expect` first");
    return half().out.view().slice(0, num_out_);
  }

  /// Sends what is in `out` of all neighbours when `s` comes here.
  void send(stream& s) {
    check_begun("send");
    send_all([](const link& l) { return l.most; }, s);
  }
  /// The first `counts[i]` elements for neighbour i: none at all is a message, too. Where one is too many nothing is
  /// sent.
  void send(const std::vector<std::size_t>& counts, stream& s) {
    if (counts.size() != links_.size()) detail::refuse_halo_call("send", "there must be a number for each neighbour");
    check_begun("send");
    if (is_agreed_) detail::refuse_halo_call("send", "the numbers are agreed upon: give none");
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > links_[i].most) detail::refuse_halo_size(static_cast<int>(i), counts[i], links_[i].most);
    }
    send_all([&](const link& l) { return counts[static_cast<std::size_t>(&l - links_.data())]; }, s);
  }
  /// Sends neighbour `i` what is in memory of the program's own, of the halo's kind, instead: it stays as it is until
  /// the round after next has begun, and after the last rounds as long as the halo. Others may be sent likewise, before
  /// `send(s)`, which sends what is left, if anything is, and ends the round's sending.
  void send(int i, buffer_view<const T> from, stream& s) {
    link& l = at(i);
    check_begun("send");
    if (l.is_sent) detail::refuse_halo_call("send", "this neighbour has been sent what is for it in this round");
    if (is_agreed_ && from.size != l.most) detail::refuse_halo_call("send", "another number was agreed upon");
    if (is_staged()) {
      buffer<T>& beside = l.beside[parity()];
      beside = buffer<T>(s.on(), from.size, memory_kind::pinned);
      copy(beside.view(), from, s);
      from = beside.view();
    }
    send_to(l, from, s);
  }

  /// Waits until the messages of all neighbours are there; what is enqueued on `s` from then on sees `in`.
  task<> receive(stream& s) { return receive_on(&s); }
  /// The same of neighbour `i` alone. What has come that way `receive` does not wait for again.
  task<> receive(int i, stream& s) { return receive_one(i, &s); }

  /// What neighbour `i` has sent; for what is enqueued before `release` in the order of its stream.
  buffer_view<const T> in(int i) {
    link& l = at(i);
    if (expects_none(l)) return {};
    if (!l.has_come) detail::refuse_halo_call("in", "nothing has been received from this neighbour");
    device& d = *scheduler::current().default_device;
    if (is_staged()) return buffer_view<const T>(l.landing[landing_parity()].view()).slice(0, l.num_come);
    return {l.come.data(), l.come.size(), kind_on(d, kind_)};
  }
  /// Everything that was received in the round, from all neighbours, goes back to them when the stream of `receive`
  /// comes here.
  void release() { give_back(nullptr); }
  /// The same when `s` comes here.
  void release(stream& s) { give_back(&s); }

  /// Whether a round has begun, and what is to be sent in it has not been.
  bool is_begun() const { return is_begun_; }
  /// Rounds that have begun.
  std::uint64_t num_rounds() const { return num_rounds_; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & kind_ & path_ & num_rounds_ & num_released_ & is_begun_ & is_agreed_;
    std::uint64_t num_links = links_.size();
    ar & num_links;
    if constexpr (Archive::is_loading) {
      if (links_.size() != num_links) links_ = std::vector<link>(num_links);  // else the constructor has connected them
    }
    for (link& l : links_) {
      if (l.has_come) detail::refuse_halo_call("serialize", "what was received has not been released: call `release`");
      if (l.is_sent && is_begun_)
        detail::refuse_halo_call("serialize", "a neighbour has been sent what is for it: send to the others, too");
      ar & l.way & l.most & l.coming;
    }
    if constexpr (Archive::is_loading) lay_out();
    if (!is_begun_) return;
    if constexpr (Archive::is_loading) make_room(half(), nullptr);
    ar& half().out;
    for (link& l : links_) ar & l.there[parity()];
  }

 private:
  struct link {
    channel<T> way;
    std::uint64_t most = 0;          ///< elements that go there in a round, at most or by agreement
    std::uint64_t coming = 0;        ///< by agreement
    std::uint64_t first = 0;         ///< of `most`, in the memory of all
    std::array<buffer<T>, 2> there;  ///< what goes there lies on the GPU that reads it; empty: in the memory of all
    std::array<int, 2> placed_on{-1, -1};  ///< that GPU's number
    std::array<std::optional<channel_send>, 2> sent;
    std::array<stream*, 2> sent_on{};
    bool is_sent = false;  ///< in the round that has begun
    received<T> come;
    bool has_come = false;
    std::uint64_t num_answered = 0;  ///< rounds up to this one have been read there, in the order of the next stream
    stream* answered_on = nullptr;
    // Host-staged.
    std::array<buffer<T>, 2> beside;   ///< copies of the program's own memory
    std::array<buffer<T>, 2> landing;  ///< of the device, for each other round
    std::uint64_t num_come = 0;
  };

  link& at(int i) {
    if (i < 0 || i >= size()) detail::refuse_halo_neighbour(i, links_.size());
    return links_[static_cast<std::size_t>(i)];
  }
  /// Which of the two memories is this round's.
  std::size_t parity() const { return num_rounds_ % 2; }
  std::size_t landing_parity() const { return num_released_ % 2; }
  detail::halo_memory<T>& half() { return halves_[parity()]; }
  buffer_view<T> out_of(link& l) {
    buffer<T>& there = l.there[parity()];
    return there.size() > 0 ? there.view().slice(0, l.most) : half().out.view().slice(l.first, l.most);
  }
  bool is_staged() const {
    return path_ == halo_path::host && kind_on(*scheduler::current().default_device, kind_) == memory_kind::device;
  }
  /// Channels know memory of devices and of hosts.
  memory_kind channel_kind() const { return kind_ == memory_kind::device && !is_staged() ? kind_ : memory_kind::host; }
  bool expects_none(const link& l) const { return is_agreed_ && l.coming == 0; }

  void lay_out() {
    const std::size_t step = is_agreed_ ? 1 : detail::elements_in_step(sizeof(T));
    num_out_ = 0;
    for (link& l : links_) {
      l.placed_on = {-1, -1};
      l.first = num_out_;
      num_out_ += (l.most + step - 1) / step * step;
    }
  }
  void make_room(detail::halo_memory<T>& h, stream* s) {
    device& d = *scheduler::current().default_device;
    detail::make_halo_room(h.out, d, num_out_, kind_, s);
    if (is_staged()) detail::make_halo_room(h.on_host, d, num_out_, memory_kind::pinned, s);
  }
  /// Where neighbours are on other GPUs that this one reaches, `out` lies there.
  void place(stream* s) {
    if (path_ != halo_path::store || kind_ != memory_kind::device) return;
    device& here = *scheduler::current().default_device;
    for (link& l : links_) {
      int& placed_on = l.placed_on[parity()];
      buffer<T>& there = l.there[parity()];
      device* const to = is_agreed_ ? nullptr : l.way.device_of_reader();
      const bool is_apart = to != nullptr && to->number() != here.number() && here.reaches(*to);
      if (there.size() > 0 && (!is_apart || placed_on != to->number())) {  // the neighbour has moved
        s->then("given up", [held = std::move(there)] {});
        there = buffer<T>();
      }
      if (is_apart) detail::make_halo_room(there, *to, l.most, memory_kind::device, s);
      placed_on = is_apart ? to->number() : -1;
    }
  }

  task<> begin_on(stream* s) {
    if (is_begun_)
      detail::refuse_halo_call("begin", "what was to be sent in the round before has not been: call `send`");
    is_begun_ = true;
    ++num_rounds_;
    const stream* waited_for = s;
    for (link& l : links_) {
      l.is_sent = false;
      std::optional<channel_send>& sent = l.sent[parity()];
      if (!sent) continue;
      stream* on = l.sent_on[parity()];
      if (l.num_answered + 2 >= num_rounds_) {
        on = l.answered_on;  // what has come from there says that it has been read
      } else {
        co_await *sent;
      }
      sent.reset();
      // The reading comes before what that stream does next, and so it must for `s`.
      if (on != s && on != waited_for) s->after(*on);
      waited_for = on;
    }
    make_room(half(), s);
    place(s);
  }
  void check_begun(const char* call) const {
    if (!is_begun_) detail::refuse_halo_call(call, "no round has begun: `co_await` the result of `begin` first");
  }

  /// `count(l)`: how many elements, from the memory of all.
  template <class Count>
  void send_all(Count count, stream& s) {
    detail::halo_memory<T>& h = half();
    const bool staged = is_staged();
    for (std::size_t i = 0, first = 0; i < links_.size(); ++i) {
      if (!sends_now(i)) {
        first = i + 1;
        continue;
      }
      // Of neighbours whose elements lie side by side one copy to the host takes many.
      const std::size_t end = links_[i].first + count(links_[i]), begin = links_[first].first;
      if (staged && count(links_[i]) == links_[i].most && i + 1 < links_.size() && sends_now(i + 1) &&
          (end - begin) * sizeof(T) < detail::bytes_of_halo_copy) {
        continue;
      }
      if (staged && end > begin)
        copy(h.on_host.view().slice(begin, end - begin), buffer_view<const T>(h.out.view()).slice(begin, end - begin),
             s);
      for (; first <= i; ++first) {
        link& l = links_[first];
        const buffer_view<const T> from =
            staged ? buffer_view<const T>(h.on_host.view()).slice(l.first, l.most) : buffer_view<const T>(out_of(l));
        send_to(l, from.slice(0, count(l)), s);
      }
    }
    is_begun_ = false;
  }
  bool sends_now(std::size_t i) const { return !links_[i].is_sent && !(is_agreed_ && links_[i].most == 0); }
  void send_to(link& l, buffer_view<const T> what, stream& s) {
    // All that came in the rounds before has been read then.
    const bool is_answer = num_released_ + 1 == num_rounds_ && were_released_on(s);
    l.sent[parity()].emplace(l.way.send(what, s, is_answer));
    l.sent_on[parity()] = &s;
    l.is_sent = true;
  }

  /// The last two rounds.
  bool were_released_on(const stream& s) const {
    return released_on_[0] == &s && (released_on_[1] == &s || released_on_[1] == nullptr);
  }

  task<> receive_on(stream* s) {
    begins_to_receive(*s);
    for (link& l : links_) {
      if (l.has_come || expects_none(l)) continue;
      l.come = co_await l.way.borrow(*s);
      has_come(l, *s);
    }
  }
  task<> receive_one(int i, stream* s) {
    link& l = at(i);
    if (l.has_come) detail::refuse_halo_call("receive", "what came before has not been released: call `release`");
    begins_to_receive(*s);
    if (expects_none(l)) co_return;
    l.come = co_await l.way.borrow(*s);
    has_come(l, *s);
  }
  void begins_to_receive(stream& s) {
    received_on_ = &s;
    // What came two rounds before lies where what comes now is to land.
    if (is_staged()) s.wait(released_[landing_parity()]);
  }
  void has_come(link& l, stream& s) {
    l.has_come = true;
    if (is_agreed_ && l.come.size() != l.coming)
      detail::refuse_halo_message(static_cast<std::size_t>(&l - links_.data()), l.coming, l.come.size());
    if (l.come.is_answer() && num_released_ > 0) {
      l.num_answered = num_released_;  // rounds of the neighbour's, each of which answers that before
      l.answered_on = &s;
    }
    if (!is_staged()) return;
    l.num_come = l.come.size();
    buffer<T>& to = l.landing[landing_parity()];
    detail::make_halo_room(to, s.on(), l.num_come, memory_kind::device, &s);
    s.copy(to.data(), l.come.data(), l.num_come * sizeof(T));
    l.come = received<T>();
  }
  /// In the order of `s`; null: of the stream of `receive`.
  void give_back(stream* s) {
    if (received_on_ == nullptr) return;
    for (const link& l : links_) {
      if (!l.has_come && !expects_none(l))
        detail::refuse_halo_call("release", "nothing has been received from one neighbour: call `receive`");
    }
    if (s == nullptr) s = received_on_;
    for (link& l : links_) {
      l.come.is_read_by(*s);
      l.come = received<T>();
      l.has_come = false;
    }
    if (is_staged()) released_[landing_parity()] = s->record();
    released_on_ = {s, released_on_[0]};
    received_on_ = nullptr;
    ++num_released_;
  }

  memory_kind kind_ = memory_kind::device;
  halo_path path_ = halo_path::device;
  std::vector<link> links_;
  std::array<detail::halo_memory<T>, 2> halves_;
  std::uint64_t num_out_ = 0;     ///< elements of one of them
  std::uint64_t num_rounds_ = 0;  ///< begun
  std::uint64_t num_released_ = 0;
  bool is_begun_ = false;
  bool is_agreed_ = false;
  stream* received_on_ = nullptr;         ///< since something was received, until it is released
  std::array<stream*, 2> released_on_{};  ///< the last round, and the one before
  std::array<event, 2> released_;         ///< host-staged: after the reading of what has landed
};

}  // namespace imbrex
