#pragma once

#include <mpi.h>

#include <vector>

#include "exchanges/exchange.h"
#include "exchanges/staged_memory.h"
#include "imbrex/base/build_config.h"
#include "plan.h"
#if IMBREX_HAVE_CUDA
#include "raw/raw_stream.h"
#endif

namespace pingpong {

class player;

/// By MPI_Send and MPI_Recv, without imbrex. With memory of a GPU: directly where this MPI takes it, else by way of
/// pinned memory, the whole message at a time (the baseline MPI+CUDA of Thomadakis and Chrisochoides 2024, 4.2).
/// Blocks the PE.
class raw_mpi final : public exchange {
 public:
  raw_mpi(player& self, ix::device& d, const equipment& e);

  ix::task<> rally(std::size_t bytes, int trips) override;
  ix::task<> burst(std::size_t bytes, int rounds) override;
  ix::task<> fill(std::size_t bytes, std::uint64_t round) override;
  ix::task<std::uint64_t> wrong(std::size_t bytes, std::uint64_t round) override;
  void await_quiet() override;

 private:
  void send(std::size_t bytes);
  void receive(std::size_t bytes);
  void send_window(std::size_t bytes);
  void receive_window(std::size_t bytes);
  bool staged() const { return pinned_.size() > 0; }
  std::byte* pinned(int slot) const;

  player& self_;
  const int window_;
  const int num_slots_;
  const std::size_t largest_;
  staged_memory memory_;
  ix::buffer<std::byte> pinned_;  // empty unless staged
  std::vector<MPI_Request> requests_;
#if IMBREX_HAVE_CUDA
  raw_stream stream_;  // used when staged
#endif
};

}  // namespace pingpong
