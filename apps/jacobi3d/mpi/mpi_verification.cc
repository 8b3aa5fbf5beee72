#include "mpi/mpi_verification.h"

#include <memory>
#include <vector>

#include "field/serial_reference.h"
#include "mpi/mpi_agreement.h"

namespace jacobi {
namespace {

/// The cells of a box as one datum that may have more than 2^31 of them.
class box_type {
 public:
  explicit box_type(extents size) : num_rows_(static_cast<int>(size.ny * size.nz)) {
    MPI_Type_contiguous(static_cast<int>(size.nx), MPI_DOUBLE, &row_);
    MPI_Type_commit(&row_);
  }
  ~box_type() { MPI_Type_free(&row_); }
  box_type(const box_type&) = delete;
  box_type& operator=(const box_type&) = delete;
  int num_rows() const { return num_rows_; }
  MPI_Datatype row() const { return row_; }

 private:
  int num_rows_;
  MPI_Datatype row_{};
};

void send_boxes(MPI_Comm comm, const decomposition& blocks, const serial_reference& reference) {
  for (int other = 1; other < blocks.num_blocks(); ++other) {
    const box cells = blocks.cells(blocks.position(other));
    const std::vector<double> copy = reference.copy_box(cells);
    const box_type type(cells.size);
    MPI_Send(copy.data(), type.num_rows(), type.row(), other, 0, comm);
  }
}

std::vector<double> receive_box(MPI_Comm comm, const box& cells) {
  std::vector<double> expected(static_cast<std::size_t>(cells.size.cells()));
  const box_type type(cells.size);
  MPI_Recv(expected.data(), type.num_rows(), type.row(), 0, 0, comm, MPI_STATUS_IGNORE);
  return expected;
}

}  // namespace

verification verify_by_reference(MPI_Comm comm, const options& o, const decomposition& blocks, mpi_block& block,
                                 std::int64_t iterations) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::unique_ptr<serial_reference> reference;
  std::int64_t expected_iterations = 0;
  agree(comm, [&] {
    if (rank != 0) return;
    reference = std::make_unique<serial_reference>(o);
    expected_iterations = reference->run();
  });
  MPI_Bcast(&expected_iterations, 1, MPI_INT64_T, 0, comm);
  const box mine = blocks.cells(blocks.position(rank));
  if (rank == 0) send_boxes(comm, blocks, *reference);
  const std::vector<double> expected = rank == 0 ? reference->copy_box(mine) : receive_box(comm, mine);

  verification v;
  agree(comm, [&] { v = block.compare(expected.data()); });
  int same = v.same_bits && iterations == expected_iterations ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, comm);
  MPI_Allreduce(MPI_IN_PLACE, &v.max_abs_error, 1, MPI_DOUBLE, MPI_MAX, comm);
  v.same_bits = same != 0;
  return v;
}

}  // namespace jacobi
