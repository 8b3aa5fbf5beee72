#include "mpi_halo_exchange.h"

namespace jacobi {

mpi_halo_exchange::mpi_halo_exchange(MPI_Comm comm, const decomposition& blocks, block_position mine, bool periodic)
    : comm_(comm) {
  const extents size = blocks.cells(mine).size;
  const auto pitch = static_cast<int>(row_pitch(size.nx));
  const auto ny = static_cast<int>(size.ny), nz = static_cast<int>(size.nz);
  const std::array<int, 3> row_lengths{ny, pitch, pitch};
  num_rows_ = {nz, nz, ny};
  for (std::size_t d = 0; d < 3; ++d) {
    MPI_Type_contiguous(row_lengths[d], MPI_DOUBLE, &row_type_[d]);
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

void mpi_halo_exchange::start(block_field& field) {
  num_requests_ = 0;
  auto next_request = [this] { return &requests_[static_cast<std::size_t>(num_requests_++)]; };
  for (face side : all_faces) {  // a message is tagged with the face at which it arrives
    if (!pending_.has(side)) continue;
    const auto f = static_cast<std::size_t>(side);
    MPI_Irecv(field.ghost(side).data(), num_rows_[f / 2], row_type_[f / 2], neighbour_[f], static_cast<int>(side),
              comm_, next_request());
  }
  for (face side : all_faces) {
    if (!pending_.has(side)) continue;
    const auto f = static_cast<std::size_t>(side);
    MPI_Isend(field.outgoing(side).data(), num_rows_[f / 2], row_type_[f / 2], neighbour_[f],
              static_cast<int>(opposite(side)), comm_, next_request());
  }
}

void mpi_halo_exchange::wait() { MPI_Waitall(num_requests_, requests_.data(), MPI_STATUSES_IGNORE); }

}  // namespace jacobi
