#include "mpi/mpi_gpu_halo_exchange.h"

#include <algorithm>

#include "imbrex/device/copy.h"
#include "support/mpi_gpu.h"

namespace jacobi {
namespace {

face_shapes shapes_of_dense_faces(extents size) {
  return {{{size.ny, size.nz}, {size.nx, size.nz}, {size.nx, size.ny}}};
}

/// Null for faces without neighbour.
template <class Faces>
face_buffers pointers_to(const Faces& faces) {
  face_buffers pointers{};
  std::ranges::transform(faces, pointers.begin(), [](const auto& f) { return f.data(); });
  return pointers;
}

const_face_buffers read_only(const face_buffers& faces) {
  const_face_buffers pointers{};
  std::ranges::copy(faces, pointers.begin());
  return pointers;
}

std::uint64_t bytes_of_faces(extents size) {
  std::int64_t cells = 0;
  for (const face f : all_faces) cells += face_cells(size, f);
  return static_cast<std::uint64_t>(cells) * sizeof(double);
}

}  // namespace

mpi_gpu_halo_exchange::mpi_gpu_halo_exchange(const apps::mpi_session& mpi, const decomposition& blocks,
                                             block_position mine, bool periodic, halo_path path, imbrex::stream& s)
    : layout_(gpu_layout::of(blocks.cells(mine).size)),
      path_(path),
      stream_(s),
      messages_(mpi.comm(), blocks, mine, periodic, shapes_of_dense_faces(layout_.size)) {
  using imbrex::memory_kind;
  allocate(packed_, memory_kind::device);
  for (face_memory& faces : incoming_) allocate(faces, through_host() ? memory_kind::pinned : memory_kind::device);
  if (!through_host()) return;
  allocate(outgoing_, memory_kind::pinned);
  allocate(arrived_, memory_kind::device);
}

std::uint64_t mpi_gpu_halo_exchange::gpu_bytes_needed(extents size, halo_path path) {
  return (path == halo_path::host ? 2 : 3) * bytes_of_faces(size);
}

std::uint64_t mpi_gpu_halo_exchange::host_bytes_needed(extents size, halo_path path) {
  return path == halo_path::host ? 3 * bytes_of_faces(size) : 0;
}

void mpi_gpu_halo_exchange::allocate(face_memory& faces, imbrex::memory_kind kind) {
  for (const face f : all_faces) {
    if (!messages_.pending().has(f)) continue;
    faces[static_cast<std::size_t>(f)] =
        imbrex::buffer<double>(stream_.on(), static_cast<std::size_t>(face_cells(layout_.size, f)), kind);
  }
}

void mpi_gpu_halo_exchange::copy_all(face_memory& to, const face_memory& from) {
  for (std::size_t f = 0; f < num_faces; ++f)
    imbrex::copy(to[f].view(), imbrex::buffer_view<const double>(from[f]), stream_);
}

void mpi_gpu_halo_exchange::start(const double* field) {
  if (!has_neighbours()) return;
  parity_ ^= 1;
  messages_.receive(pointers_to(incoming_[parity_]));
  gpu_pack_all(stream_, layout_, field, pointers_to(packed_));
  if (through_host()) copy_all(outgoing_, packed_);
}

void mpi_gpu_halo_exchange::finish(double* field) {
  if (!has_neighbours()) return;
  apps::synchronize(stream_);
  messages_.send(read_only(pointers_to(through_host() ? outgoing_ : packed_)));
  messages_.wait();
  if (through_host()) copy_all(arrived_, incoming_[parity_]);
  gpu_unpack_all(stream_, layout_, field, read_only(pointers_to(through_host() ? arrived_ : incoming_[parity_])));
}

}  // namespace jacobi
