#include "raw/peer_copy.h"

#include "exchanges/player.h"

namespace pingpong {

peer_copy::peer_copy(player& self, const equipment& e, host_waits waits)
    : self_(self),
      window_(e.window),
      chain_(e.chain),
      waits_(waits),
      here_(self.on_device().number()),
      there_(self.gpu_of_other().number()),
      memory_(self.on_device(), e.largest, 1, fmt::format("the copies of player {}", self.me())),
      away_(self.gpu_of_other(), e.largest),
      stream_(here_) {}

void peer_copy::copy_there(std::size_t bytes) {
  stream_.copy_to_peer(away_.data(), there_, memory_.out(bytes).data, here_, bytes);
}

void peer_copy::copy_back(std::size_t bytes) {
  stream_.copy_to_peer(memory_.in(bytes).data, here_, away_.data(), there_, bytes);
}

ix::task<> peer_copy::rally(std::size_t bytes, int trips) {
  for (int i = 1; self_.serves() && i <= trips; ++i) {
    copy_there(bytes);
    if (waits_ == host_waits::in_every_hop) stream_.wait();
    copy_back(bytes);
    if (waits_ == host_waits::in_every_hop || i % chain_ == 0 || i == trips) stream_.wait();
  }
  co_return;
}

ix::task<> peer_copy::burst(std::size_t bytes, int rounds) {
  for (int r = 0; self_.serves() && r < rounds; ++r) {
    for (int i = 0; i < window_; ++i) copy_there(bytes);
    stream_.wait();
  }
  co_return;
}

ix::task<> peer_copy::fill(std::size_t bytes, std::uint64_t round) { return memory_.fill(bytes, round, self_.me()); }

ix::task<std::uint64_t> peer_copy::wrong(std::size_t bytes, std::uint64_t round) {
  if (!self_.serves()) co_return 0;
  auto compared = memory_.wrong(bytes, round, self_.me());
  co_return co_await compared;
}

}  // namespace pingpong
