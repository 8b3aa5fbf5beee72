#include "mpi/mpi_halo_exchange.h"

namespace jacobi {

mpi_halo_exchange::mpi_halo_exchange(MPI_Comm comm, const decomposition& blocks, block_position mine, bool periodic,
                                     const face_shapes& shapes)
    : comm_(comm) {
  for (std::size_t d = 0; d < 3; ++d) {
    num_rows_[d] = static_cast<int>(shapes[d].num_rows);
    MPI_Type_contiguous(static_cast<int>(shapes[d].row_length), MPI_DOUBLE, &row_type_[d]);
    MPI_Type_commit(&row_type_[d]);
  }
  for (face side : all_faces) {
    const auto other = blocks.neighbour(mine, side, periodic);
    if (!other) continue;
    pending_ = pending_.with(side);
    neighbour_[static_cast<std::size_t>(side)] = static_cast<int>(blocks.number(*other));
  }
}

mpi_halo_exchange::~mpi_halo_exchange() {
  for (MPI_Datatype& type : row_type_) MPI_Type_free(&type);
}

// A message is tagged with the face at which it arrives.
void mpi_halo_exchange::receive(const std::array<double*, num_faces>& into) {
  for (face side : all_faces) {
    if (!pending_.has(side)) continue;
    const auto f = static_cast<std::size_t>(side);
    MPI_Irecv(into[f], num_rows_[f / 2], row_type_[f / 2], neighbour_[f], static_cast<int>(side), comm_,
              next_request());
  }
}

void mpi_halo_exchange::send(const std::array<const double*, num_faces>& from) {
  for (face side : all_faces) {
    if (!pending_.has(side)) continue;
    const auto f = static_cast<std::size_t>(side);
    MPI_Isend(from[f], num_rows_[f / 2], row_type_[f / 2], neighbour_[f], static_cast<int>(opposite(side)), comm_,
              next_request());
  }
}

void mpi_halo_exchange::wait() {
  MPI_Waitall(num_requests_, requests_.data(), MPI_STATUSES_IGNORE);
  num_requests_ = 0;
}

}  // namespace jacobi
