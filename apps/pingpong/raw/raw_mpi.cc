#include "raw/raw_mpi.h"

#include "exchanges/player.h"
#include "imbrex/comm/mpi/mpi_gpu_support.h"
#include "raw/quiet_barrier.h"

namespace pingpong {
namespace {

constexpr int message_tag = 1;
constexpr int ack_tag = 2;

}  // namespace

raw_mpi::raw_mpi(player& self, ix::device& d, const equipment& e)
    : self_(self),
      window_(e.window),
      num_slots_(staged_memory::slots_for(e.largest, e.window)),
      largest_(e.largest),
      memory_(d, e.largest, num_slots_, fmt::format("MPI's player {}", self.me())),
      requests_(static_cast<std::size_t>(e.window), MPI_REQUEST_NULL) {
#if IMBREX_HAVE_CUDA
  if (d.allocates() != ix::memory_kind::device) return;
  stream_ = raw_stream(d.number());
  if (!ix::mpi_takes_gpu_memory()) {
    pinned_ = ix::buffer<std::byte>(d, largest_ * static_cast<std::size_t>(num_slots_), ix::memory_kind::pinned);
  }
#endif
}

std::byte* raw_mpi::pinned(int slot) const {
  return pinned_.data() + static_cast<std::size_t>(slot % num_slots_) * largest_;
}

void raw_mpi::send(std::size_t bytes) {
  const std::byte* from = memory_.out(bytes).data;
#if IMBREX_HAVE_CUDA
  if (staged()) {
    stream_.copy(pinned(0), from, bytes);
    stream_.wait();
    from = pinned(0);
  }
#endif
  const mpi_players& mpi = *mpi_of_players();
  MPI_Send(from, static_cast<int>(bytes), MPI_BYTE, mpi.other(), message_tag, mpi.comm());
}

void raw_mpi::receive(std::size_t bytes) {
  const mpi_players& mpi = *mpi_of_players();
  std::byte* const to = staged() ? pinned(0) : memory_.in(bytes).data;
  MPI_Recv(to, static_cast<int>(bytes), MPI_BYTE, mpi.other(), message_tag, mpi.comm(), MPI_STATUS_IGNORE);
#if IMBREX_HAVE_CUDA
  if (staged()) {
    stream_.copy(memory_.in(bytes).data, to, bytes);
    stream_.wait();
  }
#endif
}

ix::task<> raw_mpi::rally(std::size_t bytes, int trips) {
  for (int i = 0; i < trips; ++i) {
    if (self_.serves()) send(bytes);
    receive(bytes);
    if (!self_.serves()) send(bytes);
  }
  co_return;
}

// Staged, copies and messages overlap message by message as far as each stands alone: all are copied, then all sent.
void raw_mpi::send_window(std::size_t bytes) {
  const mpi_players& mpi = *mpi_of_players();
#if IMBREX_HAVE_CUDA
  if (staged()) {
    for (int i = 0; i < window_; ++i) stream_.copy(pinned(i), memory_.out(bytes).data, bytes);
    stream_.wait();
  }
#endif
  for (int i = 0; i < window_; ++i) {
    const std::byte* const from = staged() ? pinned(i) : memory_.out(bytes).data;
    MPI_Isend(from, static_cast<int>(bytes), MPI_BYTE, mpi.other(), message_tag, mpi.comm(),
              &requests_[static_cast<std::size_t>(i)]);
  }
  MPI_Waitall(window_, requests_.data(), MPI_STATUSES_IGNORE);
  char ack = 0;
  MPI_Recv(&ack, 1, MPI_CHAR, mpi.other(), ack_tag, mpi.comm(), MPI_STATUS_IGNORE);
}

void raw_mpi::receive_window(std::size_t bytes) {
  const mpi_players& mpi = *mpi_of_players();
  for (int i = 0; i < window_; ++i) {
    std::byte* const to = staged() ? pinned(i) : memory_.in(bytes, i).data;
    MPI_Irecv(to, static_cast<int>(bytes), MPI_BYTE, mpi.other(), message_tag, mpi.comm(),
              &requests_[static_cast<std::size_t>(i)]);
  }
  MPI_Waitall(window_, requests_.data(), MPI_STATUSES_IGNORE);
#if IMBREX_HAVE_CUDA
  if (staged()) {
    for (int i = 0; i < window_; ++i) stream_.copy(memory_.in(bytes, i).data, pinned(i), bytes);
    stream_.wait();
  }
#endif
  const char ack = 0;
  MPI_Send(&ack, 1, MPI_CHAR, mpi.other(), ack_tag, mpi.comm());
}

ix::task<> raw_mpi::burst(std::size_t bytes, int rounds) {
  for (int r = 0; r < rounds; ++r) self_.serves() ? send_window(bytes) : receive_window(bytes);
  co_return;
}

ix::task<> raw_mpi::fill(std::size_t bytes, std::uint64_t round) { return memory_.fill(bytes, round, self_.me()); }

ix::task<std::uint64_t> raw_mpi::wrong(std::size_t bytes, std::uint64_t round) {
  return memory_.wrong(bytes, round, 1 - self_.me());
}

void raw_mpi::await_quiet() { quiet_barrier(); }

}  // namespace pingpong
