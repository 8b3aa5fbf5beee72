#pragma once

#include <mpi.h>

#include <array>

#include "block_field.h"
#include "decomposition.h"

namespace jacobi {

/// The exchange of one block's six faces with its neighbours, one block for each rank, rank = block number. Outgoing
/// faces are sent from where they lie (block_field.h). Faces may have more than 2^31 values.
class mpi_halo_exchange {
 public:
  mpi_halo_exchange(MPI_Comm comm, const decomposition& blocks, block_position mine, bool periodic);
  ~mpi_halo_exchange();
  mpi_halo_exchange(const mpi_halo_exchange&) = delete;
  mpi_halo_exchange& operator=(const mpi_halo_exchange&) = delete;

  /// The faces that have a neighbour: whose ghosts arrive with every exchange.
  face_set pending() const { return pending_; }

  /// Posts all receives into the ghosts and all sends of the current field. Returns at once.
  void start(block_field& field);

  /// Blocks until all ghosts are there and all sends are done with the field.
  void wait();

 private:
  MPI_Comm comm_;
  face_set pending_;
  std::array<int, num_faces> neighbour_{};
  std::array<MPI_Datatype, 3> row_type_{};  ///< of x, y and z faces
  std::array<int, 3> num_rows_{};
  std::array<MPI_Request, 2 * num_faces> requests_{};
  int num_requests_ = 0;
};

}  // namespace jacobi
