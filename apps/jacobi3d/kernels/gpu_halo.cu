#include <algorithm>

#include "imbrex/device/cuda/cuda_launch.h"
#include "kernels/gpu_kernels.h"

namespace jacobi {
namespace {

/// Copies of one face each: cell (a, b) from `from + a*from_a + b*from_b` to the like. `to` is null: no copy.
struct face_copy {
  const double* from = nullptr;
  double* to = nullptr;
  std::int64_t from_a = 0, from_b = 0, to_a = 0, to_b = 0;
  unsigned num_a = 0, num_b = 0;
};
struct face_copies {
  face_copy at[num_faces];
};

constexpr unsigned threads = 256;

/// One thread for each cell; the copy's number is the grid's y.
__global__ void __launch_bounds__(threads) face_kernel(const __grid_constant__ face_copies copies) {
  const face_copy& c = copies.at[blockIdx.y];
  const std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x;
  if (c.to == nullptr || i >= std::uint64_t{c.num_a} * c.num_b) return;
  const std::int64_t a = static_cast<unsigned>(i) % c.num_a, b = static_cast<unsigned>(i) / c.num_a;
  c.to[a * c.to_a + b * c.to_b] = c.from[a * c.from_a + b * c.from_b];
}

__global__ void __launch_bounds__(threads) fill_kernel(double* data, std::int64_t count, double value) {
  const std::int64_t step = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < count; i += step) data[i] = value;
}

unsigned blocks_for(std::int64_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

/// `num` copies, the first in the list.
void launch_copies(imbrex::stream& s, const char* name, const face_copies& copies, unsigned num = num_faces) {
  constexpr double sector = 32;  // cells that are far apart move one each
  std::int64_t most = 0;
  double bytes = 0;
  for (const face_copy& c : copies.at) {
    if (c.to == nullptr) continue;
    const std::int64_t cells = std::int64_t{c.num_a} * c.num_b;
    most = std::max(most, cells);
    bytes += static_cast<double>(cells) *
             ((c.from_a == 1 ? sizeof(double) : sector) + (c.to_a == 1 ? sizeof(double) : sector));
  }
  imbrex::expect(s, {bytes});
  if (most > 0) imbrex::launch(s, name, face_kernel, dim3(blocks_for(most), num), dim3(threads), 0, copies);
}

face_copy sized(const gpu_face& f) {
  face_copy c;
  c.num_a = static_cast<unsigned>(f.num_a);
  c.num_b = static_cast<unsigned>(f.num_b);
  return c;
}

void from_face(face_copy& c, const double* field, const gpu_face& f) {
  c.from = field + f.first;
  c.from_a = f.stride_a;
  c.from_b = f.stride_b;
}

void to_face(face_copy& c, double* field, const gpu_face& f) {
  c.to = field + f.first;
  c.to_a = f.stride_a;
  c.to_b = f.stride_b;
}

/// Nothing if the buffer is null.
face_copy packing(const gpu_layout& layout, const double* field, face side, double* buffer) {
  const gpu_face cells = layout.inner_face(side);
  face_copy c = sized(cells);
  from_face(c, field, cells);
  if (buffer != nullptr) to_face(c, buffer, {0, 1, cells.num_a, cells.num_a, cells.num_b});
  return c;
}

face_copy unpacking(const gpu_layout& layout, double* field, face side, const double* buffer) {
  const gpu_face ghosts = layout.ghost_face(side);
  face_copy c = sized(ghosts);
  if (buffer == nullptr) return c;
  from_face(c, buffer, {0, 1, ghosts.num_a, ghosts.num_a, ghosts.num_b});
  to_face(c, field, ghosts);
  return c;
}

}  // namespace

void gpu_fill(imbrex::stream& s, double* data, std::int64_t count, double value) {
  if (count <= 0) return;
  const unsigned blocks = static_cast<unsigned>(std::min<std::int64_t>((count + threads - 1) / threads, 1 << 14));
  imbrex::expect(s, {static_cast<double>(count) * sizeof(double)});
  imbrex::launch(s, "jacobi fill", fill_kernel, dim3(blocks), dim3(threads), 0, data, count, value);
}

void gpu_pack(imbrex::stream& s, const gpu_layout& layout, const double* field, face side, double* out) {
  face_copies copies;
  copies.at[0] = packing(layout, field, side, out);
  launch_copies(s, "jacobi pack", copies, 1);
}

void gpu_unpack(imbrex::stream& s, const gpu_layout& layout, double* field, face side, const double* in) {
  face_copies copies;
  copies.at[0] = unpacking(layout, field, side, in);
  launch_copies(s, "jacobi unpack", copies, 1);
}

void gpu_pack_all(imbrex::stream& s, const gpu_layout& layout, const double* field, const face_buffers& out) {
  face_copies copies;
  for (int f = 0; f < num_faces; ++f) copies.at[f] = packing(layout, field, static_cast<face>(f), out[f]);
  launch_copies(s, "jacobi pack all", copies);
}

void gpu_unpack_all(imbrex::stream& s, const gpu_layout& layout, double* field, const const_face_buffers& in) {
  face_copies copies;
  for (int f = 0; f < num_faces; ++f) copies.at[f] = unpacking(layout, field, static_cast<face>(f), in[f]);
  launch_copies(s, "jacobi unpack all", copies);
}

}  // namespace jacobi
