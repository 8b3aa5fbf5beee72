#include <fmt/format.h>
#include <imbrex/device/interop/cuda_native.h>

#include "proxies.h"

namespace imbrex_python {

std::shared_ptr<channel_state::sending> channel_state::send(const array_memory& a, std::optional<CUstream_st*> after) {
  check(a);
  std::erase_if(under_way_, [](const auto& s) { return s.use_count() == 1 && s->sent.returned(); });
  if (!after) after = a.ready_in;
  if (a.on_gpu && after) ix::after_native(*in_order_of, *after);
  const ix::buffer_view<const std::byte> view(a.data, a.bytes, kind());
  under_way_.push_back(std::make_shared<sending>(sending{channel.send(view, *in_order_of), a}));
  return under_way_.back();
}

void channel_state::check(const array_memory& a) const {
  if (a.on_gpu == of_device_) return;
  throw ix::usage_error(of_device_
                            ? "this channel is for arrays of a GPU (memory=\"device\"), and the array is in main memory"
                            : "this array is on a GPU: open the channel, at both ends, with memory=\"device\"");
}

namespace {

/// What Python has of it, wherever that goes.
class end_of_channel {
 public:
  explicit end_of_channel(const std::shared_ptr<channel_state>& s) : state_(s) {}

  wait_pointer send(const nb::object& array, const nb::object& stream) {
    const std::weak_ptr<channel_state::sending> sent =
        there()->send(array_memory::of(array, false), stream_of_cuda(stream));
    return std::make_shared<wait>([state = state_, sent] { return until_read(state.lock(), sent.lock()); });
  }
  wait_pointer receive(const nb::object& into, const nb::object& stream) {
    const array_memory to = array_memory::of(into, true);
    there()->check(to);
    return std::make_shared<wait>([state = state_, kept = value(into), to,
                                   before = stream_of_cuda(stream)] { return next(state.lock(), kept, to, before); },
                                  "channel.recv(array)");
  }
  void close() { there()->channel = {}; }
  /// Its number in the state of the chare that is pickled; -1: it is closed.
  int kept() const {
    chare_parts* const parts = chare_parts::current();
    if (parts == nullptr) {
      throw ix::usage_error(
          "a channel belongs to its chare, and goes nowhere without it: the other chare opens its own end");
    }
    const std::shared_ptr<channel_state> s = state_.lock();
    return s == nullptr || !s->channel.is_open() ? -1 : static_cast<int>(parts->keep(s));
  }
  static end_of_channel of_state(int number) {
    const chare_parts* const parts = chare_parts::current();
    if (number < 0 || parts == nullptr) return end_of_channel(nullptr);
    return end_of_channel(parts->channel(static_cast<std::size_t>(number)));
  }

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
  static ix::task<value> next(std::shared_ptr<channel_state> s, value kept, array_memory to,
                              std::optional<CUstream_st*> before) {
    if (s == nullptr) throw_closed();
    if (to.on_gpu && to.ready_in) ix::after_native(*s->in_order_of, *to.ready_in);
    const ix::buffer_view<std::byte> view(to.data, to.bytes, s->kind());
    auto waiting = s->channel.recv(view, *s->in_order_of);
    const std::size_t came = co_await waiting;
    if (came != to.bytes) {
      throw ix::usage_error(
          fmt::format("a message of {} bytes came where {} were expected: receive into an array of "
                      "the shape and type that was sent",
                      came, to.bytes));
    }
    if (to.on_gpu && before) {  // what is enqueued there from now on sees it
      ix::native_after(*before, *s->in_order_of);
      co_return kept;
    }
    auto there = s->in_order_of->done();
    co_await std::move(there);
    co_return kept;
  }

  std::weak_ptr<channel_state> state_;
};

template <class Self, class Index>
bool open(Self& self, const nb::object& peer, int port, int peer_port, ix::memory_kind kind,
          ix::channel<std::byte>& result) {
  element_of<Index> other;
  if (!nb::try_cast(peer, other)) return false;
  result = ix::channel<std::byte>(self, other.here(a_proxy), port, peer_port, kind);
  return true;
}

}  // namespace

template <class Index>
nb::object python_chare<Index>::open_channel(const nb::object& peer, const nb::object& its_port,
                                             const nb::object& its_peer_port, const std::string& memory) {
  const int port = whole_number(its_port, "a channel's port"),
            peer_port = whole_number(its_peer_port, "a channel's port");
  if (memory != "host" && memory != "device")
    throw ix::usage_error("a channel is for memory \"host\" or \"device\", not \"" + memory + "\"");
  const bool of_device = memory == "device";
  if (of_device && my_gpu() < 0) {
    throw ix::usage_error(
        "a channel of memory \"device\" needs chares on GPUs: start the program with --imbrex-device=cuda");
  }
  const ix::memory_kind kind = of_device ? ix::memory_kind::device : ix::memory_kind::host;
  ix::channel<std::byte> c;
  const bool known = open<python_chare, ix::index1d>(*this, peer, port, peer_port, kind, c) ||
                     open<python_chare, ix::index2d>(*this, peer, port, peer_port, kind, c) ||
                     open<python_chare, ix::index3d>(*this, peer, port, peer_port, kind, c) ||
                     open<python_chare, ix::no_index>(*this, peer, port, peer_port, kind, c);
  if (!known) throw ix::usage_error("a channel goes to a chare: give the proxy of one element");
  std::erase_if(channels_, [](const auto& s) { return s.use_count() == 1 && !s->channel.is_open(); });
  channels_.push_back(std::make_shared<channel_state>(std::move(c), base::streams().pack, of_device));
  return nb::cast(end_of_channel(channels_.back()));
}

template nb::object python_chare<ix::no_index>::open_channel(const nb::object&, const nb::object&, const nb::object&,
                                                             const std::string&);
template nb::object python_chare<ix::index1d>::open_channel(const nb::object&, const nb::object&, const nb::object&,
                                                            const std::string&);
template nb::object python_chare<ix::index2d>::open_channel(const nb::object&, const nb::object&, const nb::object&,
                                                            const std::string&);
template nb::object python_chare<ix::index3d>::open_channel(const nb::object&, const nb::object&, const nb::object&,
                                                            const std::string&);

void bind_channels(nb::module_& m) {
  m.def("channel_of_state", &end_of_channel::of_state);
  nb::class_<end_of_channel>(m, "Channel")
      .def("__reduce__",
           [](const end_of_channel& c) {
             return nb::make_tuple(nb::module_::import_("imbrex._chare").attr("channel_of_state"),
                                   nb::make_tuple(c.kept()));
           })
      .def("send", &end_of_channel::send, nb::arg("array"), nb::arg("stream") = nb::none(),
           "`await c.send(a)`: sends the bytes of an array in C order, which the other chare reads where they are: do "
           "not write to it before this has been awaited. Of an array on a GPU it sends what is there once all is done "
           "that is in `stream` now, a stream of CUDA (CuPy's, PyTorch's, or its number), else in the one that the "
           "array "
           "names; an array that names none has to be complete.")
      .def("recv", &end_of_channel::receive, nb::arg("into"), nb::arg("stream") = nb::none(),
           "`a = await c.recv(a)`: the next message, into an array of the same number of bytes. With `stream`, for an "
           "array on a GPU: what is put into that stream of CUDA from then on sees it, and the host does not wait.")
      .def(
          "close", &end_of_channel::close,
          "What has been sent still goes out. Its port can be used again. Else it is open as long as its chare lives.");
}

}  // namespace imbrex_python
