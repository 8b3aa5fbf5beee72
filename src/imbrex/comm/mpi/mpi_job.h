#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "imbrex/base/ids.h"

namespace imbrex {

[[noreturn]] void throw_mpi_error(int code, const char* call, rank_id me, rank_id peer);

/// Throws `comm_error` with MPI's text unless `code` is success. `peer` is the rank on the other side, if any.
inline void mpi_check(int code, const char* call, rank_id me, rank_id peer = -1) {
  if (code != MPI_SUCCESS) [[unlikely]]
    throw_mpi_error(code, call, me, peer);
}

/// How many processes the launcher says it started, by the environment; 0 when it does not say, or there is none.
int launched_ranks();
/// Whether the environment shows a launcher of MPI jobs, of whatever size.
bool launcher_present();

/// This process as a rank of an MPI job: initialisation, thread level, the communicators imbrex uses. Collective
/// construction and destruction.
class mpi_job {
 public:
  /// The last `num_spares` processes are no ranks, but wait to take the places of those that are lost.
  explicit mpi_job(int num_spares = 0);
  /// Of those that are left of `before`'s ranks, in their order, with spare processes in the places of the others, as
  /// far as there are some; collective over all that are left. That one is closed, and no request of it is under way.
  explicit mpi_job(mpi_job& before);
  ~mpi_job();
  mpi_job(const mpi_job&) = delete;
  mpi_job& operator=(const mpi_job&) = delete;

  /// Of a process that is no rank all other questions are those of a job, but it has no place in it.
  bool is_spare() const { return control_ == MPI_COMM_NULL; }
  rank_id rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  rank_id local_rank() const { return local_rank_; }
  int num_local_ranks() const { return num_local_ranks_; }
  bool uses_session() const { return uses_session_; }

  /// \name One communicator for each use and kind of memory, and each says so by its info (docs/sessions.md): an MPI,
  /// or libimbrex_sessions.so before it, need not look at buffers of the host's memory.
  ///@{
  MPI_Comm messages() const { return messages_; }        ///< small messages and announcements: the host's memory
  MPI_Comm pieces() const { return pieces_; }            ///< payloads of large messages: the host's
  MPI_Comm host_data() const { return host_data_; }      ///< data apart from messages, from host to host
  MPI_Comm device_data() const { return device_data_; }  ///< the same where either side may be a device's memory
  MPI_Comm control() const { return control_; }          ///< collectives: the host's
  /// The same with all spare processes.
  MPI_Comm everyone() const { return everyone_ != MPI_COMM_NULL ? everyone_ : control_; }
  ///@}
  int largest_tag() const { return largest_tag_; }

  /// Collective: everyone's bytes, in rank order. Up to 2 GiB in all; throws `comm_error` for more, and once abandoned.
  std::vector<std::vector<std::byte>> all_gather(const std::vector<std::byte>& mine) const;

  /// Collective: rank 0 calls `take` with everyone's bytes, as many as they are, in rank order, one rank's at a time.
  /// `take` does not throw. Throws `comm_error` once abandoned.
  void collect(std::vector<std::byte> mine, const std::function<void(std::vector<std::byte>)>& take) const;

  /// The other ranks are lost: nothing collective from now on, MPI is not finalised.
  void abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }
  /// A rank is lost: the others' calls fail from now on, so that they notice (where MPI has recovery).
  void revoke();

 private:
  bool open_session();
  void open_world();
  void set_apart(int num_spares);
  void fill_places(const mpi_job& before);
  void ask_about_ranks();
  void ask_about_host();
  void ask_about_host_by_name();
  void check_ranks_are_started() const;
  void free_communicators();
  void close();

  rank_id rank_ = 0;
  int num_ranks_ = 1;
  rank_id local_rank_ = 0;
  int num_local_ranks_ = 1;
  int largest_tag_ = 32767;
  bool uses_session_ = false;
  bool must_finalise_ = false;
  bool abandoned_ = false;
  MPI_Comm messages_ = MPI_COMM_NULL;
  MPI_Comm pieces_ = MPI_COMM_NULL;
  MPI_Comm host_data_ = MPI_COMM_NULL;
  MPI_Comm device_data_ = MPI_COMM_NULL;
  MPI_Comm control_ = MPI_COMM_NULL;
  MPI_Comm everyone_ = MPI_COMM_NULL;  // only where there are spare processes
#if MPI_VERSION >= 4
  MPI_Session session_ = MPI_SESSION_NULL;
#endif
};

}  // namespace imbrex
