#include <nanobind/ndarray.h>

#include "proxies.h"

namespace imbrex_python {

using any_array = nb::ndarray<nb::c_contig, nb::device::cpu>;
using read_array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// One end of a channel of bytes of the host, and what has been sent there and not been read. Of a chare, and for its
/// PE.
class channel_state {
 public:
  channel_state(ix::channel<std::byte> c, ix::stream& s) : channel(std::move(c)), in_order_of(&s) {}

  struct sending {
    ix::channel_send sent;
    value kept;
  };
  /// What nobody awaits goes when it has been read.
  std::shared_ptr<sending> send(const read_array& a) {
    std::erase_if(under_way_, [](const auto& s) { return s.use_count() == 1 && s->sent.returned(); });
    const ix::buffer_view<const std::byte> view(static_cast<const std::byte*>(a.data()), a.nbytes(),
                                                ix::memory_kind::host);
    under_way_.push_back(std::make_shared<sending>(sending{channel.send(view, *in_order_of), value(nb::cast(a))}));
    return under_way_.back();
  }
  void forget(const std::shared_ptr<sending>& s) { std::erase(under_way_, s); }

  ix::channel<std::byte> channel;
  ix::stream* in_order_of;

 private:
  std::vector<std::shared_ptr<sending>> under_way_;
};

namespace {

/// What Python has of it, wherever that goes.
class end_of_channel {
 public:
  explicit end_of_channel(const std::shared_ptr<channel_state>& s) : state_(s) {}

  wait_pointer send(const read_array& a) {
    const std::weak_ptr<channel_state::sending> sent = there()->send(a);
    return std::make_shared<wait>([state = state_, sent] { return until_read(state.lock(), sent.lock()); });
  }
  wait_pointer receive(const nb::object& into) {
    static_cast<void>(there());
    const auto to = nb::cast<any_array>(into);
    return std::make_shared<wait>([state = state_, kept = value(into), data = static_cast<std::byte*>(to.data()),
                                   bytes = to.nbytes()] { return next(state.lock(), kept, data, bytes); });
  }
  void close() { there()->channel = {}; }

 private:
  std::shared_ptr<channel_state> there() const {
    check_in_job();
    std::shared_ptr<channel_state> s = state_.lock();
    if (s == nullptr || !s->channel.is_open()) throw_closed();
    return s;
  }
  [[noreturn]] static void throw_closed() {
    throw ix::usage_error("this channel is closed, or the chare whose it was is no longer here");
  }
  static ix::task<value> until_read(std::shared_ptr<channel_state> s, std::shared_ptr<channel_state::sending> sending) {
    if (s == nullptr) throw_closed();
    if (sending != nullptr) {
      co_await sending->sent;
      s->forget(sending);
    }
    co_return value();
  }
  static ix::task<value> next(std::shared_ptr<channel_state> s, value kept, std::byte* data, std::size_t bytes) {
    if (s == nullptr) throw_closed();
    const ix::buffer_view<std::byte> view(data, bytes, ix::memory_kind::host);
    auto waiting = s->channel.recv(view, *s->in_order_of);
    const std::size_t came = co_await waiting;
    if (came != bytes) {
      throw ix::usage_error(
          fmt::format("a message of {} bytes came where {} were expected: receive into an array of "
                      "the shape and type that was sent",
                      came, bytes));
    }
    auto there = s->in_order_of->done();
    co_await std::move(there);
    co_return kept;
  }

  std::weak_ptr<channel_state> state_;
};

template <class Self, class Index>
bool open(Self& self, const nb::object& peer, int port, int peer_port, ix::channel<std::byte>& result) {
  element_of<Index> other;
  if (!nb::try_cast(peer, other)) return false;
  result = ix::channel<std::byte>(self, other, port, peer_port, ix::memory_kind::host);
  return true;
}

}  // namespace

template <class Index>
nb::object python_chare<Index>::open_channel(const nb::object& peer, int port, int peer_port) {
  ix::channel<std::byte> c;
  const bool known = open<python_chare, ix::index1d>(*this, peer, port, peer_port, c) ||
                     open<python_chare, ix::index2d>(*this, peer, port, peer_port, c) ||
                     open<python_chare, ix::index3d>(*this, peer, port, peer_port, c) ||
                     open<python_chare, ix::no_index>(*this, peer, port, peer_port, c);
  if (!known) throw ix::usage_error("a channel goes to a chare: give the proxy of one element");
  std::erase_if(channels_, [](const auto& s) { return s.use_count() == 1 && !s->channel.is_open(); });
  channels_.push_back(std::make_shared<channel_state>(std::move(c), base::streams().pack));
  return nb::cast(end_of_channel(channels_.back()));
}

template nb::object python_chare<ix::no_index>::open_channel(const nb::object&, int, int);
template nb::object python_chare<ix::index1d>::open_channel(const nb::object&, int, int);
template nb::object python_chare<ix::index2d>::open_channel(const nb::object&, int, int);
template nb::object python_chare<ix::index3d>::open_channel(const nb::object&, int, int);

void bind_channels(nb::module_& m) {
  nb::class_<end_of_channel>(m, "Channel")
      .def("send", &end_of_channel::send,
           "`await c.send(a)`: sends the bytes of an array in C order, which the other chare reads where they are: do "
           "not write to it before this has been awaited.")
      .def("recv", &end_of_channel::receive,
           "`a = await c.recv(a)`: the next message, into an array of the same number of bytes.")
      .def(
          "close", &end_of_channel::close,
          "What has been sent still goes out. Its port can be used again. Else it is open as long as its chare lives.");
}

}  // namespace imbrex_python
