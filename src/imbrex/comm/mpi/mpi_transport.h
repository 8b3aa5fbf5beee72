#pragma once

#include <memory>
#include <string>
#include <vector>

#include "imbrex/comm/transport.h"

namespace imbrex {

/// Messages between ranks over any MPI of standard 3.1 or later, started by mpirun, mpiexec or srun.
///
/// Threads: needs `MPI_THREAD_SERIALIZED`. The thread that constructs it is not the PE that sends, and PEs take turns,
/// one inside MPI at a time (a spin lock; `poll` never waits for it). The program may have initialised MPI itself, at
/// that level or above; otherwise the constructor does (as an MPI session where MPI 4 is there) and the destructor
/// finalises. Communicators are its own: a program's other use of MPI does not mix with it.
///
/// A message of up to 8 KiB travels as one MPI message, received into buffers posted beforehand; a larger one as an
/// announcement and pieces of up to 1 GiB, received in place. Sizes are 64 bits.
/// Order: between a pair of PEs as sent, also when a small message follows a large one.
/// Errors: every MPI return code is checked; `comm_error` carries MPI's text and both ranks.
/// A rank that is lost: where MPI tells (ULFM), `poll` throws `rank_lost` from then on, here and on all other ranks;
/// what is sent is thrown away, data that are moved end at once, and `stop` gives `begin_again`.
class mpi_transport final : public transport {
 public:
  /// Of those that are left of another one's ranks, once that has stopped; collective over them. The other one is of no
  /// use any more.
  explicit mpi_transport(mpi_transport& before);
  /// Collective over the ranks of the job. Throws `comm_error` when MPI offers too low a thread level, was already
  /// finalised, or sees one rank where the launcher started several.
  mpi_transport() : mpi_transport(false) {}
  /// `may_lose_ranks`: the job is to go on without a rank that is lost; sends take a little longer then. The last
  /// `num_spares` processes are no ranks, but take the places of lost ones.
  explicit mpi_transport(bool may_lose_ranks, int num_spares = 0);
  /// Collective, unless a `stop` after a failure gave up on the others; then MPI is left unfinalised, so that the
  /// launcher ends the job.
  ~mpi_transport() override;

  /// Whether a launcher started this process as one of several, judged by the environment alone: costs nothing, and
  /// does not initialise MPI.
  static bool launched_by_mpi();
  bool uses_session() const;
  /// Whether this process is no rank: then it can only agree, and be left.
  bool is_spare() const;
  /// After a run, collective over those that are left, spare processes among them, where MPI has recovery
  /// (mpi_recovery.h): the bits that all gave.
  int agree_on(int bits);

  rank_id rank() const override;
  int num_ranks() const override;
  int num_local_ranks() const override;
  int local_rank() const override;
  std::string name() const override { return "mpi"; }
  void start(const delivery& to) override;
  void send(rank_id to, wire_message* m) override;
  /// Memory of GPUs when the MPI takes it (see mpi_gpu_support.h).
  bool reaches(memory_kind kind) const override;
  void send_data(rank_id to, pe_id to_pe, std::uint64_t id, const data_view& from, transfer* done) override;
  void recv_data(rank_id from, std::uint64_t id, const data_view& to, transfer* done) override;
  bool poll() override;
  bool needs_polling() const override { return num_ranks() > 1; }
  /// After a failure the others have 5 s; then it gives up on them: what is on its way stays allocated, and
  /// `all_gather` throws from then on.
  job_end stop(const job_end& mine) override;
  /// Up to 2 GiB in all; throws `comm_error` for more.
  std::vector<std::vector<std::byte>> all_gather(const std::vector<std::byte>& mine) override;
  void collect(std::vector<std::byte> mine, const std::function<void(std::vector<std::byte>)>& take) override;
  [[noreturn]] void abort(int exit_code) override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// One line on the MPI this was built with: library, standard, whether sessions are there. Does not initialise MPI.
std::string mpi_library_description();

}  // namespace imbrex
