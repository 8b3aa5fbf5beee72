#include "mpi/mpi_host_block.h"

#include "field/change_sum.h"
#include "field/field_hash.h"
#include "field/initial_state.h"
#include "field/serial_reference.h"

namespace jacobi {
namespace {

std::uint64_t bytes_of_fields(extents size) {
  return 2 * sizeof(double) * static_cast<std::uint64_t>(row_pitch(size.nx) * size.ny * size.nz);
}

/// See block_field.h.
face_shapes shapes_of_padded_faces(extents size) {
  const std::int64_t pitch = row_pitch(size.nx);
  return {{{size.ny, size.nz}, {pitch, size.nz}, {pitch, size.ny}}};
}

}  // namespace

mpi_host_block::mpi_host_block(const apps::mpi_session& mpi, const options& o, const decomposition& blocks)
    : options_(o),
      position_(blocks.position(mpi.rank())),
      cells_(blocks.cells(position_)),
      field_(cells_.size, o.boundary.value),
      exchange_(mpi.comm(), blocks, position_, o.boundary.periodic, shapes_of_padded_faces(cells_.size)),
      kernel_(o.formula,
              choose_store_policy(bytes_of_fields(cells_.size) * static_cast<std::uint64_t>(mpi.num_local_ranks()))) {}

void mpi_host_block::set_initial_state() {
  jacobi::set_initial_state(field_, options_.grid, cells_, options_.initial, options_.boundary);
  field_.reset_ghosts(options_.boundary.value);
}

/// Outgoing faces are sent from where they lie.
void mpi_host_block::start_exchange() {
  std::array<double*, num_faces> ghosts{};
  std::array<const double*, num_faces> outgoing{};
  for (const face f : all_faces) {
    ghosts[static_cast<std::size_t>(f)] = field_.ghost(f).data();
    outgoing[static_cast<std::size_t>(f)] = field_.outgoing(f).data();
  }
  exchange_.receive(ghosts);
  exchange_.send(outgoing);
}

void mpi_host_block::iterate() {
  start_exchange();
  if (options_.overlap) {
    kernel_.update_interior(field_.view(), exchange_.pending());
    exchange_.wait();
    kernel_.update_exterior(field_.view(), exchange_.pending());
  } else {
    exchange_.wait();
    kernel_.update(field_.view());
  }
  field_.advance();
}

apps::exact_sum::limb_array mpi_host_block::squared_changes() {
  apps::exact_sum sum;
  add_squared_changes(sum, field_.previous(), field_.current(), cells_.size, field_.pitch());
  return sum.limbs();
}

std::uint64_t mpi_host_block::hash() { return hash_share(options_.grid, cells_, field_.current(), field_.pitch()); }

void mpi_host_block::write(const field_outputs& outputs) { outputs.write(position_, field_.current(), field_.pitch()); }

verification mpi_host_block::compare(const double* expected) {
  return compare_block(cells_.size, field_.current(), field_.pitch(), expected);
}

}  // namespace jacobi
