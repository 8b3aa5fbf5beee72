#pragma once

#include <mpi.h>

#include <functional>
#include <memory>

namespace pingpong {

/// MPI for the program's own use, beside the runtime's: of the two processes that hold the players.
/// Every process makes one before the job and destroys it afterwards. One thread at a time, the runtime's included.
class mpi_players {
 public:
  /// Null where no MPI launcher started this process. Collective.
  static std::unique_ptr<mpi_players> join(int* argc, char*** argv);
  ~mpi_players();
  mpi_players(const mpi_players&) = delete;
  mpi_players& operator=(const mpi_players&) = delete;

  int num_processes() const { return num_processes_; }
  int rank_of_process() const { return rank_of_process_; }
  /// Of the two players; null in processes that hold none.
  MPI_Comm comm() const { return comm_; }
  /// The other player's rank in it.
  int other() const { return 1 - rank_; }
  /// The job failed: others may be lost, so nothing collective happens any more.
  void abandon() { abandoned_ = true; }

 private:
  mpi_players() = default;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int num_processes_ = 1;
  int rank_of_process_ = 0;
  int rank_ = 0;
  bool abandoned_ = false;
};

/// This process's, or null where it holds no player or the other one is in it too.
mpi_players* mpi_of_players();

/// Waits until both players are here, while the runtime's transport and `also` make progress. What either had sent
/// before, and the other had answered, is then done with: the PEs may block.
void quiet_barrier(const std::function<void()>& also = [] {});

}  // namespace pingpong
