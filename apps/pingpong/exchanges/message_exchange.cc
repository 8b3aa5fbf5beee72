#include "exchanges/message_exchange.h"

#include "exchanges/player.h"

namespace pingpong {

message_exchange::message_exchange(player& self, const equipment& e, host_waits waits)
    : self_(self),
      window_(e.window),
      chain_(e.chain),
      waits_(waits),
      memory_(self.on_device(), e.largest, 1, fmt::format("the messages of player {}", self.me())) {}

void message_exchange::expect(const plan& p) {
  self_.take_parcels(this);
  of_window_ = p.what == plan::kind::burst;
  left_ = p.count;
  left_of_window_ = window_;
  ++last_;
}

void message_exchange::send(std::size_t bytes, ix::stream& s) {
  ix::device_view<std::byte> view(memory_.out(bytes), s);
  self_.other().send<&player::parcel>(std::move(view));
}

bool message_exchange::host_waits_now() const {
  return waits_ == host_waits::in_every_hop || left_ == 0 || left_ % chain_ == 0;
}

ix::task<> message_exchange::rally(std::size_t bytes, int) {
  if (self_.serves()) send(bytes, memory_.stream());
  const int number = last_;
  co_await self_.over(number);
}

ix::task<> message_exchange::parcel(ix::device_view<std::byte> data) {
  ix::stream& s = data.stream();
  const std::size_t bytes = data.size();
  std::byte* const here = memory_.in(bytes).data;
  if (data.data() != here) s.copy(here, data.data(), bytes);
  data = ix::device_view<std::byte>();
  if (of_window_) {
    auto answered = answer_window(s);
    co_await answered;
    co_return;
  }
  const bool last = --left_ == 0;
  if (host_waits_now()) co_await s.done();
  if (!self_.serves() || !last) send(bytes, s);
  if (last) {
    co_await s.done();
    self_.proxy().send<&player::over>(last_);
  }
}

ix::task<> message_exchange::answer_window(ix::stream& s) {
  if (--left_of_window_ > 0) co_return;
  left_of_window_ = window_;
  const bool last = --left_ == 0;
  co_await s.done();
  self_.other().send<&player::acked>(self_.next_window());
  if (last) self_.proxy().send<&player::over>(last_);
}

ix::task<> message_exchange::burst(std::size_t bytes, int rounds) {
  if (!self_.serves()) {
    const int number = last_;
    co_await self_.over(number);
    co_return;
  }
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < window_; ++i) send(bytes, memory_.stream());
    co_await self_.acked(self_.next_window());
  }
}

ix::task<> message_exchange::fill(std::size_t bytes, std::uint64_t round) {
  return memory_.fill(bytes, round, self_.me());
}

ix::task<std::uint64_t> message_exchange::wrong(std::size_t bytes, std::uint64_t round) {
  return memory_.wrong(bytes, round, 1 - self_.me());
}

}  // namespace pingpong
