#include <cstring>

#include "kernels/gpu_fused.cuh"
#include "kernels/gpu_kernels.h"

namespace jacobi {
namespace {

using gpu::fused_task;

constexpr std::int64_t most_cells_of_small_block = 1'000'000, most_cells_in_cache = 4'000'000;

unsigned parts(std::int64_t whole, std::int64_t part) { return static_cast<unsigned>((whole + part - 1) / part); }

auto small_kernel(bool is_even, bool weighted) {
  return is_even    ? weighted ? gpu::small_block_kernel<true, true> : gpu::small_block_kernel<true, false>
            : weighted ? gpu::small_block_kernel<false, true>
                    : gpu::small_block_kernel<false, false>;
}
template <class Block>
auto large_kernel(bool is_even, bool weighted) {
  return is_even ? weighted ? gpu::large_block_kernel<Block, true, true> : gpu::large_block_kernel<Block, true, false>
         : weighted ? gpu::large_block_kernel<Block, false, true>
                    : gpu::large_block_kernel<Block, false, false>;
}

void launch_small(imbrex::stream& s, fused_task& t, bool is_even, bool weighted) {
  t.depth = gpu::small_block::depth;
  // Of 32 pairs where no more threads are idle than of 16.
  const int pairs = t.nx / 2 + t.nx % 2, wide = pairs % 32 == 0 || pairs % 32 > 16 ? 32 : 16;
  const int high = gpu::small_block::threads / wide;
  imbrex::launch_batch(s, "jacobi fused update", small_kernel(is_even, weighted),
                       dim3(parts(pairs, wide), parts(t.ny, high), parts(t.nz, t.depth)), dim3(wide, high), 0, t);
}

void launch_large(imbrex::stream& s, fused_task& t, extents n, bool backwards, bool is_even, bool weighted) {
  gpu_cut cut = gpu_cut::of(n.cells());
  cut.depth = t.depth = 8;
  t.backwards = backwards && cut.alternating ? 1 : 0;
  t.tiling = gpu_tiling::of(n, cut);
  const bool is_in_cache = n.cells() <= most_cells_in_cache, faces_first = is_in_cache || cut.beyond_cache;
  // Faces without a neighbour, too: launches of blocks of one size can become one.
  for (const face f : all_faces) {
    t.first_of_face[static_cast<int>(f)] = t.num_of_faces;
    if (t.halos != 0 && faces_first)
      t.num_of_faces += static_cast<int>(parts(face_cells(n, f), gpu::cells_of_face_block));
  }
  const auto kernel = cut.beyond_cache ? large_kernel<gpu::block_beyond_cache>(is_even, weighted)
                      : is_in_cache    ? large_kernel<gpu::block_in_cache>(is_even, weighted)
                                       : large_kernel<gpu::block_near_cache>(is_even, weighted);
  imbrex::launch_batch(s, "jacobi fused update", kernel,
                       dim3(static_cast<unsigned>(t.num_of_faces) + static_cast<unsigned>(t.tiling.total())),
                       dim3(gpu::beyond_cache::columns, gpu::beyond_cache::rows), 0, t);
}

double bytes_of(const gpu_layout& layout, const const_face_buffers& in, const face_buffers& out) {
  double bytes = layout.bytes(2);
  for (int f = 0; f < num_faces; ++f) {
    const int passes = (in[f] != nullptr ? 1 : 0) + (out[f] != nullptr ? 1 : 0);
    bytes += passes * static_cast<double>(face_cells(layout.size, static_cast<face>(f))) * sizeof(double);
  }
  return bytes;
}

}  // namespace

void gpu_update_fused(imbrex::stream& s, const gpu_layout& layout, stencil formula, gpu_ends ends, const double* in,
                      double* out, const const_face_buffers& halos_in, const face_buffers& halos_out, bool backwards) {
  const extents& n = layout.size;
  fused_task t;
  std::memset(static_cast<void*>(&t), 0, sizeof t);  // its gaps, too
  t.nx = static_cast<int>(n.nx);
  t.ny = static_cast<int>(n.ny);
  t.nz = static_cast<int>(n.nz);
  t.pitch = static_cast<int>(layout.pitch);
  t.plane = static_cast<int>(layout.plane);
  t.in = in + layout.origin;
  t.out = out + layout.origin;
  t.outside = ends.value;
  t.x_fixed = ends.fixed ? 1 : 0;
  t.alpha = formula.alpha;
  t.beta = formula.beta;
  for (int f = 0; f < num_faces; ++f) {
    t.halo[f] = halos_in[f];
    t.edge[f] = halos_out[f];
    t.halos |= halos_in[f] != nullptr ? 1u << f : 0u;
  }
  imbrex::expect(s, {bytes_of(layout, halos_in, halos_out)});
  const bool is_even = n.nx % 2 == 0;
  if (n.cells() <= most_cells_of_small_block) {
    launch_small(s, t, is_even, formula.weighted);
  } else {
    launch_large(s, t, n, backwards, is_even, formula.weighted);
  }
}

}  // namespace jacobi
