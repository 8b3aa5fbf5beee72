#pragma once

#include "exchanges/exchange.h"
#include "exchanges/staged_memory.h"
#include "plan.h"

namespace pingpong {

class player;

/// When the host waits for a device.
enum class host_waits : std::uint8_t { never, in_every_hop, after_a_chain };

/// By a channel, of host memory on the host device or of a GPU's memory.
class channel_exchange final : public exchange {
 public:
  channel_exchange(player& self, ix::device& d, int port, const equipment& e, host_waits waits);

  ix::task<> rally(std::size_t bytes, int trips) override;
  ix::task<> burst(std::size_t bytes, int rounds) override;
  ix::task<> fill(std::size_t bytes, std::uint64_t round) override;
  ix::task<std::uint64_t> wrong(std::size_t bytes, std::uint64_t round) override;

 private:
  ix::task<> send_window(std::size_t bytes);
  ix::task<> receive_window(std::size_t bytes);

  player& self_;
  const int window_;
  const int chain_;
  const host_waits waits_;
  staged_memory memory_;
  ix::channel<std::byte> channel_;
};

}  // namespace pingpong
