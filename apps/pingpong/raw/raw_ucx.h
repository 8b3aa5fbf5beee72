#pragma once

#include <ucp/api/ucp.h>

#include <vector>

#include "exchanges/exchange.h"
#include "exchanges/staged_memory.h"
#include "imbrex/comm/ucx/ucx_context.h"
#include "imbrex/comm/ucx/ucx_worker.h"
#include "plan.h"

namespace pingpong {

class player;

/// By UCX tag messages on a worker of its own, without imbrex's messages, with the kind of memory given. Blocks the PE.
class raw_ucx final : public exchange {
 public:
  /// Both players at once.
  raw_ucx(player& self, ix::device& d, const equipment& e);
  ~raw_ucx() override;

  ix::task<> rally(std::size_t bytes, int trips) override;
  ix::task<> burst(std::size_t bytes, int rounds) override;
  ix::task<> fill(std::size_t bytes, std::uint64_t round) override;
  ix::task<std::uint64_t> wrong(std::size_t bytes, std::uint64_t round) override;
  void await_quiet() override;
  void close() override;

  /// Whether the UCX of this process reaches GPUs.
  static bool takes_gpu_memory(int rank);

 private:
  void agree_on_addresses();
  /// A request, or null when it has already been done.
  void* start_send(const std::byte* from, std::size_t bytes, ix::memory_kind kind, std::uint64_t tag);
  void* start_receive(std::byte* to, std::size_t bytes, ix::memory_kind kind, std::uint64_t tag);
  void finish(void* request);
  void send(std::size_t bytes);
  void receive(std::size_t bytes);
  void send_window(std::size_t bytes);
  void receive_window(std::size_t bytes);

  player& self_;
  const int window_;
  const int rank_;  // among the two players
  ix::ucx_context context_;
  ix::ucx_worker worker_;
  ix::ucx_addresses addresses_;
  staged_memory memory_;
  std::vector<void*> requests_;
  bool closed_ = false;
};

}  // namespace pingpong
