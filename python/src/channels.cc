#include <nanobind/ndarray.h>

#include <cstring>

#include "proxies.h"

namespace imbrex_python {

namespace {

using any_array = nb::ndarray<nb::c_contig, nb::device::cpu>;
using read_array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// One end of a channel of bytes of the host, of a chare.
class end_of_channel {
 public:
  end_of_channel(ix::channel<std::byte> c, ix::stream& s) : channel_(std::move(c)), stream_(&s) {}

  wait_pointer send(const read_array& a) {
    const ix::buffer_view<const std::byte> view(static_cast<const std::byte*>(a.data()), a.nbytes(),
                                                ix::memory_kind::host);
    auto sent = std::make_shared<ix::channel_send>(channel_.send(view, *stream_));
    auto kept = std::make_shared<value>(nb::cast(a));
    return std::make_shared<wait>([sent, kept] { return until_read(sent, kept); });
  }
  static wait_pointer receive(std::shared_ptr<end_of_channel> self, const nb::object& into) {
    const value kept(into);
    const auto to = nb::cast<any_array>(into);
    return std::make_shared<wait>([self = std::move(self), kept, data = static_cast<std::byte*>(to.data()),
                                   bytes = to.nbytes()] { return next(self, kept, data, bytes); });
  }

 private:
  static ix::task<value> until_read(std::shared_ptr<ix::channel_send> sent, std::shared_ptr<value> kept) {
    co_await *sent;
    static_cast<void>(kept);
    co_return value();
  }
  static ix::task<value> next(std::shared_ptr<end_of_channel> self, value kept, std::byte* data, std::size_t bytes) {
    auto waiting = self->channel_.borrow();
    const ix::received<std::byte> message = co_await waiting;
    if (message.size() != bytes) {
      throw ix::usage_error(fmt::format("a message of {} bytes came where {} were expected: receive into an array of "
                                        "the shape and type that was sent",
                                        message.size(), bytes));
    }
    std::memcpy(data, message.data(), bytes);
    co_return kept;
  }

  ix::channel<std::byte> channel_;
  ix::stream* stream_;
};

template <class Self, class Index>
bool open(Self& self, ix::stream& s, const nb::object& peer, int port, int peer_port, nb::object& result) {
  element_of<Index> other;
  if (!nb::try_cast(peer, other)) return false;
  result = nb::cast(
      std::make_shared<end_of_channel>(ix::channel<std::byte>(self, other, port, peer_port, ix::memory_kind::host), s));
  return true;
}

}  // namespace

template <class Index>
nb::object python_chare<Index>::open_channel(const nb::object& peer, int port, int peer_port) {
  nb::object result;
  ix::stream& s = base::streams().pack;
  const bool known = open<python_chare, ix::index1d>(*this, s, peer, port, peer_port, result) ||
                     open<python_chare, ix::index2d>(*this, s, peer, port, peer_port, result) ||
                     open<python_chare, ix::index3d>(*this, s, peer, port, peer_port, result) ||
                     open<python_chare, ix::no_index>(*this, s, peer, port, peer_port, result);
  if (!known) throw ix::usage_error("a channel goes to a chare: give the proxy of one element");
  return result;
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
           "`a = await c.recv(a)`: the next message, into an array of the same number of bytes.");
}

}  // namespace imbrex_python
