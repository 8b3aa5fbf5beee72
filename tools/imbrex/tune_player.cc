#include "tune_player.h"

#include <imbrex/base/clock.h>
#include <imbrex/comm/data/protocol_file.h>
#include <imbrex/pe/scheduler.h>

namespace tune {

namespace ix = imbrex;

namespace {
std::size_t slot(ix::memory_kind of) { return of == ix::memory_kind::device ? 1 : 0; }
}  // namespace

/// A channel's end with memory of its own.
class end_of_table {
 public:
  end_of_table(player& self, const ix::element_proxy<player>& other, ix::device& d, int port, std::uint64_t largest)
      : waits_(d.allocates() == ix::memory_kind::device),
        stream_(d.make_stream(ix::stream_priority::high, "the stream of imbrex tune")),
        out_(d, largest),
        in_(d, largest),
        channel_(self, other, port, port, d.allocates()) {
    stream_->fill(out_.data(), 1, largest);
    stream_->fill(in_.data(), 2, largest);
  }

  // On a GPU the data are there when the stream says so. A message is sent when the one before has come.
  ix::task<> rally(bool serves, std::uint64_t bytes, int trips) {
    ix::stream& s = *stream_;
    const ix::buffer_view<std::byte> out = out_.view().slice(0, bytes), in = in_.view().slice(0, bytes);
    if (serves) channel_.send(out, s);
    for (int i = 1; i <= trips; ++i) {
      co_await channel_.recv(in, s);
      if (waits_) co_await s.done();
      if (!serves || i < trips) channel_.send(out, s);
    }
    co_await s.done();
  }

 private:
  const bool waits_;
  std::unique_ptr<ix::stream> stream_;
  ix::buffer<std::byte> out_, in_;
  ix::channel<std::byte> channel_;
};

player::player() = default;
player::~player() = default;

place player::where() {
  place p;
  p.machine = ix::machine_name();
  if (on_device().allocates() == ix::memory_kind::device) p.gpu = on_device().name();
  return p;
}

ix::task<> player::open(ix::memory_kind of, std::uint64_t largest) {
  ix::device& d = of == ix::memory_kind::device ? on_device() : on_host();
  const auto i = slot(of);
  ends_[i] = std::make_unique<end_of_table>(*this, array()[1 - index().x], d, static_cast<int>(i), largest);
  auto both = meet();
  co_await both;  // by then both ends know each other
}

ix::task<outcome> player::measure(plan p) {
  ix::data_mover& mover = *ix::scheduler::current().mover;
  mover.use(p.table);
  auto both = meet();
  co_await both;
  outcome o;
  const std::array<std::uint64_t, 4> before = mover.num_sent();
  const std::int64_t begin = ix::now_ns();
  auto played = ends_[slot(p.of)]->rally(serves(), p.bytes, p.trips);
  co_await played;
  o.ns = ix::now_ns() - begin;
  for (std::size_t i = 0; i < before.size(); ++i) o.sent[i] = mover.num_sent()[i] - before[i];
  co_return o;
}

ix::task<> player::close() {
  auto both = meet();
  co_await both;
  for (auto& end : ends_) end.reset();
}

ix::task<> player::meet() {
  const int here = ++num_meetings_;
  array()[1 - index().x].send<&player::met>(here);
  co_await met(here);
}

}  // namespace tune
