#include "exchanges/channel_exchange.h"

#include "exchanges/player.h"

namespace pingpong {

channel_exchange::channel_exchange(player& self, ix::device& d, int port, const equipment& e, host_waits waits)
    : self_(self),
      window_(e.window),
      chain_(e.chain),
      waits_(waits),
      memory_(d, e.largest, staged_memory::slots_for(e.largest, e.window), fmt::format("player {}", self.me())),
      channel_(self, self.other(), port, port, d.allocates()) {}

// All of a player is enqueued on one stream: what it sends leaves after what it has received is there.
ix::task<> channel_exchange::rally(std::size_t bytes, int trips) {
  ix::stream& s = memory_.stream();
  const ix::buffer_view<std::byte> out = memory_.out(bytes);
  const ix::buffer_view<std::byte> in = memory_.in(bytes);
  if (self_.serves()) channel_.send(out, s);
  for (int i = 1; i <= trips; ++i) {
    co_await channel_.recv(in, s);
    if (waits_ == host_waits::in_every_hop || (waits_ == host_waits::after_a_chain && i % chain_ == 0))
      co_await s.done();
    if (!self_.serves() || i < trips) channel_.send(out, s);
  }
  co_await s.done();
}

ix::task<> channel_exchange::burst(std::size_t bytes, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    auto passed = self_.serves() ? send_window(bytes) : receive_window(bytes);
    co_await passed;
  }
  co_await memory_.stream().done();
}

ix::task<> channel_exchange::send_window(std::size_t bytes) {
  for (int i = 0; i < window_; ++i) channel_.send(memory_.out(bytes), memory_.stream());
  co_await self_.acked(self_.next_window());
}

ix::task<> channel_exchange::receive_window(std::size_t bytes) {
  std::vector<ix::channel<std::byte>::receive_wait> receives;
  receives.reserve(static_cast<std::size_t>(window_));
  for (int i = 0; i < window_; ++i) receives.push_back(channel_.recv(memory_.in(bytes, i), memory_.stream()));
  auto all = ix::when_all(std::move(receives));
  co_await all;
  co_await memory_.stream().done();
  self_.other().send<&player::acked>(self_.next_window());
}

ix::task<> channel_exchange::fill(std::size_t bytes, std::uint64_t round) {
  return memory_.fill(bytes, round, self_.me());
}

ix::task<std::uint64_t> channel_exchange::wrong(std::size_t bytes, std::uint64_t round) {
  return memory_.wrong(bytes, round, 1 - self_.me());
}

}  // namespace pingpong
