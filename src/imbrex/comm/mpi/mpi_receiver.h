#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "imbrex/comm/mpi/mpi_job.h"
#include "imbrex/comm/mpi/mpi_pending.h"
#include "imbrex/comm/transport.h"

namespace imbrex {

/// Header and payload of at most so many bytes travel as one MPI message.
inline constexpr std::uint64_t mpi_eager_bytes = 8192;

/// Calls `f(start, count)` for the pieces in which `size` bytes travel: MPI counts are ints.
template <class F>
void for_each_mpi_piece(std::byte* start, std::uint64_t size, F f) {
  constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 30;
  for (std::uint64_t at = 0; at < size; at += piece_bytes) {
    f(start + at, static_cast<int>(size - at < piece_bytes ? size - at : piece_bytes));
  }
}

/// The receiving half of the MPI transport: a ring of receives posted beforehand, of which the oldest is tested, since
/// MPI fills them in the order of posting. The caller holds the lock.
///
/// Latency: one arrival per poll, unless the poll before had one too; used buffers are posted again when nothing has
/// arrived, so not between an arrival and its delivery.
class mpi_receiver {
 public:
  mpi_receiver(const mpi_job& job, mpi_pending& pending);

  /// Posts the ring; delivers to `to` from now on.
  void start(const delivery& to);
  /// Takes what has arrived; true when something had.
  bool poll();
  /// All pieces of `t` are here: delivers it, and the messages of its pair of PEs that came meanwhile. Frees `t`.
  void complete(mpi_transfer* t);

  /// Frees what arrives from now on, instead of delivering it.
  void discard_from_now();
  /// Withdraws the ring, once nothing can arrive any more.
  void cancel();
  /// The same after the loss of a rank, as far as it has ended yet; whether all of it has.
  bool cancel_after_loss();

  /// How many messages have arrived from each rank, whole.
  const std::vector<std::uint64_t>& num_received() const { return num_received_; }

 private:
  static constexpr std::size_t ring_size = 32;
  static constexpr int max_burst = 16;
  /// The rest keeps the first lines of all buffers out of one set of the cache.
  struct alignas(64) buffer {
    std::byte bytes[mpi_eager_bytes];
    std::byte rest[5 * 64];
  };
  /// A message in the queue of its pair of PEs, behind or itself a large one that is incomplete.
  struct queued {
    wire_message* message;
    bool complete;
  };

  bool take_one();
  void take(const std::byte* bytes, std::uint64_t count, rank_id source);
  void expect_pieces(const mpi_announcement& a, rank_id source);
  void deliver_in_order(wire_message* m);
  void deliver(wire_message* m);
  void post_used();

  const mpi_job& job_;
  mpi_pending& pending_;
  delivery delivery_;
  bool discarding_ = false;
  bool bursting_ = false;

  std::unique_ptr<buffer[]> buffers_;
  std::vector<MPI_Request> requests_;
  std::size_t oldest_ = 0;    // the posted receive that fills first
  std::size_t num_used_ = 0;  // receives just before it in the ring that are not posted

  std::uint64_t num_incomplete_ = 0;
  std::unordered_map<std::uint64_t, std::deque<queued>>
      queues_;  // by pair of PEs; only while a large one is incomplete
  std::vector<std::uint64_t> num_received_;
};

}  // namespace imbrex
