#pragma once

#include <array>

#include "imbrex/device/buffer.h"
#include "kernels/gpu_kernels.h"
#include "kernels/gpu_layout.h"
#include "mpi/mpi_halo_exchange.h"
#include "options.h"
#include "support/mpi_session.h"

namespace jacobi {

/// The exchange of the six faces of a block on a GPU with those of the neighbours' blocks. By way of the host (the
/// papers' MPI-H) MPI sends and receives copies in pinned memory; directly (MPI-D) it is given memory of the GPU, which
/// it must be able to take. All kernels and copies go into one stream, which must have passed what wrote the field
/// before `start`, and which others wait for after `finish` before they read the ghosts.
class mpi_gpu_halo_exchange {
 public:
  /// The stream outlives the exchange. Throws out_of_memory.
  mpi_gpu_halo_exchange(const apps::mpi_session& mpi, const decomposition& blocks, block_position mine, bool periodic,
                        halo_path path, imbrex::stream& s);

  /// Bytes of GPU memory, and of host memory, that the faces of such a block take at most.
  static std::uint64_t gpu_bytes_needed(extents size, halo_path path);
  static std::uint64_t host_bytes_needed(extents size, halo_path path);

  /// Posts all receives and enqueues the packing of the field's faces. Returns at once.
  void start(const double* field);
  /// Sends the faces once they are packed, blocks until the neighbours' have come, and enqueues the unpacking of these
  /// into the field's ghosts.
  void finish(double* field);

 private:
  using face_memory = std::array<imbrex::buffer<double>, num_faces>;

  bool through_host() const { return path_ == halo_path::host; }
  bool has_neighbours() const { return messages_.pending().bits != 0; }
  void allocate(face_memory& faces, imbrex::memory_kind kind);
  void copy_all(face_memory& to, const face_memory& from);

  const gpu_layout layout_;
  const halo_path path_;
  imbrex::stream& stream_;
  mpi_halo_exchange messages_;
  face_memory packed_;    ///< on the GPU
  face_memory outgoing_;  ///< by way of the host: copies of the packed ones there
  // Where MPI puts what comes. There are two as receives are posted while the GPU may not yet have read what came last.
  std::array<face_memory, 2> incoming_;
  face_memory arrived_;  ///< by way of the host: copies of the incoming ones on the GPU
  std::size_t parity_ = 0;
};

}  // namespace jacobi
