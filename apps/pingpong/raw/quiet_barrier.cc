#include "raw/quiet_barrier.h"

#include "imbrex/comm/mpi/mpi_transport.h"
#include "imbrex/pe/scheduler.h"

namespace pingpong {
namespace {

mpi_players* of_this_process = nullptr;

}  // namespace

mpi_players* mpi_of_players() { return of_this_process; }

std::unique_ptr<mpi_players> mpi_players::join(int* argc, char*** argv) {
  if (!imbrex::mpi_transport::launched_by_mpi()) return nullptr;
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
  auto players = std::unique_ptr<mpi_players>(new mpi_players);
  MPI_Comm_rank(MPI_COMM_WORLD, &players->rank_of_process_);
  MPI_Comm_size(MPI_COMM_WORLD, &players->num_processes_);
  const int rank = players->rank_of_process_;
  const int size = players->num_processes_;
  const bool plays = size > 1 && (rank == 0 || rank == size - 1);
  MPI_Comm_split(MPI_COMM_WORLD, plays ? 0 : MPI_UNDEFINED, rank, &players->comm_);
  if (plays) {
    MPI_Comm_rank(players->comm_, &players->rank_);
    of_this_process = players.get();
  }
  return players;
}

mpi_players::~mpi_players() {
  of_this_process = nullptr;
  if (abandoned_) return;
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  MPI_Finalize();
}

void quiet_barrier(const std::function<void()>& also) {
  imbrex::transport* runtimes = imbrex::scheduler::current().rank().transport;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(of_this_process->comm(), &request);
  for (int over = 0; over == 0;) {
    runtimes->poll();
    also();
    MPI_Test(&request, &over, MPI_STATUS_IGNORE);
  }
}

}  // namespace pingpong
