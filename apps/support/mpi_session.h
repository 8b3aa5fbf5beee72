#pragma once

#include <mpi.h>

namespace apps {

/// The communicators of the run, from MPI_Init to MPI_Finalize.
class mpi_session {
 public:
  mpi_session(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm(), &rank_);
    MPI_Comm_size(comm(), &num_ranks_);
    MPI_Comm_split_type(comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_);
    MPI_Comm_rank(node_, &local_rank_);
    MPI_Comm_size(node_, &num_local_ranks_);
  }
  ~mpi_session() {
    MPI_Comm_free(&node_);
    MPI_Finalize();
  }
  mpi_session(const mpi_session&) = delete;
  mpi_session& operator=(const mpi_session&) = delete;

  static MPI_Comm comm() { return MPI_COMM_WORLD; }
  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  /// The ranks that share this one's memory, and its place among them.
  MPI_Comm node() const { return node_; }
  int local_rank() const { return local_rank_; }
  int num_local_ranks() const { return num_local_ranks_; }

 private:
  MPI_Comm node_{};
  int rank_ = 0, num_ranks_ = 1;
  int local_rank_ = 0, num_local_ranks_ = 1;
};

}  // namespace apps
