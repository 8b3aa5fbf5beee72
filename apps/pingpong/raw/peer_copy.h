#pragma once

#include "exchanges/channel_exchange.h"
#include "exchanges/exchange.h"
#include "exchanges/staged_memory.h"
#include "plan.h"
#include "raw/raw_stream.h"

namespace pingpong {

class player;

/// By cudaMemcpyPeerAsync between the GPUs of one process, without imbrex: player 0 copies there and back, player 1
/// does nothing. What comes back is what was sent. Blocks the PE.
class peer_copy final : public exchange {
 public:
  peer_copy(player& self, const equipment& e, host_waits waits);

  ix::task<> rally(std::size_t bytes, int trips) override;
  ix::task<> burst(std::size_t bytes, int rounds) override;
  ix::task<> fill(std::size_t bytes, std::uint64_t round) override;
  ix::task<std::uint64_t> wrong(std::size_t bytes, std::uint64_t round) override;

 private:
  void copy_there(std::size_t bytes);
  void copy_back(std::size_t bytes);

  player& self_;
  const int window_;
  const int chain_;
  const host_waits waits_;
  const int here_, there_;  // CUDA's numbers of the GPUs
  staged_memory memory_;
  ix::buffer<std::byte> away_;
  raw_stream stream_;
};

}  // namespace pingpong
