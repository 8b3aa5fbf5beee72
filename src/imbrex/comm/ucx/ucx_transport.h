#pragma once

#include <memory>
#include <string>
#include <vector>

#include "imbrex/comm/transport.h"

namespace imbrex {

struct ucx_options {
  int heartbeat_s = 10;  ///< a rank that is silent for so many seconds is lost; 0: nobody looks
};

/// Messages and data between ranks over UCX 1.13 or later: shared memory, InfiniBand, TCP, and GPU memory where the UCX
/// found at run time has CUDA. The ranks are started by MPI, which also gathers and meets; see `mpi_transport`.
///
/// Threads: every PE has a UCX worker of its own, which only it polls: PEs share no lock. `send`, `poll`, data and
/// one-sided movements are for PE threads (`executor::current()` is one of those given to `start`).
/// Order: between a pair of PEs as sent, also when a small message follows a large one. Sizes are 64 bits.
/// Memory: its kind goes with every operation, and the registration of the piece it lies in: no pointer is queried.
/// Errors: `poll` throws `comm_error` when the connection to a rank broke or the rank fell silent; `send` then drops
/// what is for it, and does not throw for it. Data whose two sides differ in size is a `comm_error` too.
class ucx_transport final : public transport {
 public:
  /// Collective over the ranks of the job. Throws as `mpi_transport` does, and `comm_error` when UCX finds no
  /// transport.
  explicit ucx_transport(const ucx_options& options = {});
  /// As that of `mpi_transport`.
  ~ucx_transport() override;

  rank_id rank() const override;
  int num_ranks() const override;
  int num_local_ranks() const override;
  int local_rank() const override;
  std::string name() const override { return "ucx"; }
  /// Collective, other than the interface asks: PEs' addresses are exchanged. Every rank must give as many PEs.
  void start(const delivery& to) override;
  void send(rank_id to, wire_message* m) override;
  bool poll() override;
  bool needs_polling() const override { return num_ranks() > 1; }

  bool reaches(memory_kind kind) const override;
  void send_data(rank_id to, pe_id to_pe, std::uint64_t id, const data_view& from, transfer* done) override;
  void recv_data(rank_id from, std::uint64_t id, const data_view& to, transfer* done) override;
  void add_memory(const data_view& piece) override;
  void forget_memory(const std::byte* start) override;

  bool has_one_sided(memory_kind kind) const override { return reaches(kind); }
  /// The memory stays registered until `forget_memory` of where it begins, or the end. Where UCX has no way to write
  /// remote memory by itself, the PE that shares it must poll for others' puts and gets to end.
  std::vector<std::byte> share_memory(const data_view& memory) override;
  void put(rank_id to, const std::vector<std::byte>& key, std::uint64_t there, const data_view& from,
           transfer* done) override;
  void get(rank_id from, const std::vector<std::byte>& key, std::uint64_t there, const data_view& to,
           transfer* done) override;

  /// After a failure the others have 5 s; then it gives up on them, and `all_gather` throws from then on. Data that
  /// nobody asked for are taken and thrown away, what was never sent is not waited for; the transfers are posted all
  /// the same.
  job_end stop(const job_end& mine) override;
  /// Up to 2 GiB in all; throws `comm_error` for more.
  std::vector<std::vector<std::byte>> all_gather(const std::vector<std::byte>& mine) override;
  void collect(std::vector<std::byte> mine, const std::function<void(std::vector<std::byte>)>& take) override;
  [[noreturn]] void abort(int exit_code) override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// One line on the UCX found at run time: version, kinds of memory, paths. Opens and closes a context.
std::string ucx_library_description();

}  // namespace imbrex
