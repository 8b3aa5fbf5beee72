#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>

#include "decomposition.h"
#include "kernels/kernel.h"

namespace jacobi {

/// A face as it lies in memory: rows of so many doubles, one right after the other.
struct face_shape {
  std::int64_t row_length = 0, num_rows = 0;
};
using face_shapes = std::array<face_shape, 3>;  ///< of x, y and z faces

/// The messages between one block's six faces and its neighbours, one block for each rank, rank = block number. Faces
/// may have more than 2^31 values. An exchange is `receive` and `send`, in any order, then `wait`.
class mpi_halo_exchange {
 public:
  mpi_halo_exchange(MPI_Comm comm, const decomposition& blocks, block_position mine, bool periodic,
                    const face_shapes& shapes);
  ~mpi_halo_exchange();
  mpi_halo_exchange(const mpi_halo_exchange&) = delete;
  mpi_halo_exchange& operator=(const mpi_halo_exchange&) = delete;

  /// The faces that have a neighbour: whose ghosts arrive with every exchange. Only these faces' pointers are looked
  /// at.
  face_set pending() const { return pending_; }

  /// Posts all receives: what belongs beyond face f goes to `into[f]`. Returns at once.
  void receive(const std::array<double*, num_faces>& into);
  /// Posts all sends: the neighbour at face f gets what is at `from[f]`. Returns at once.
  void send(const std::array<const double*, num_faces>& from);
  /// Blocks until all has come and all sends are done with their memory.
  void wait();

 private:
  MPI_Request* next_request() { return &requests_[static_cast<std::size_t>(num_requests_++)]; }

  MPI_Comm comm_;
  face_set pending_;
  std::array<int, num_faces> neighbour_{};
  std::array<MPI_Datatype, 3> row_type_{};  ///< of x, y and z faces
  std::array<int, 3> num_rows_{};
  std::array<MPI_Request, 2 * num_faces> requests_{};
  int num_requests_ = 0;
};

}  // namespace jacobi
