#pragma once

#include "kernels/gpu_kernels.h"
#include "kernels/gpu_stencil.cuh"
#include "kernels/gpu_tiles.h"

namespace jacobi::gpu {

/// What one iteration of the blocks of a GPU works on. The blocks are arguments of the kernel, so that a thread block
/// knows its tile without a load.
struct step_task {
  const gpu_block_entry* table = nullptr;
  const gpu_face_tile* faces = nullptr;
  int num_faces = 0;
  gpu_tiling tiling;
  quick_divisor of_block;  ///< tiles
  int parity = 0;
  bool backwards = false;
  std::int64_t pitch = 0, plane = 0;
  double outside = 0.0;
  stencil formula;
  gpu_step_block blocks[gpu_blocks_in_a_step];
};

/// The values of a part of a face, for the neighbour's ghosts.
template <bool weighted>
__device__ __forceinline__ void store_halo(const step_task& t, gpu_face_tile share) {
  const gpu_block_entry& block = t.table[share.block];
  const gpu_neighbour& there = block.neighbours[share.side];
  const gpu_face here = block.layout.inner_face(static_cast<face>(share.side));
  const std::int64_t pitch = t.pitch, plane = t.plane;
  const double* const in = block.fields[t.parity] + here.first;
  double* const out = there.fields[t.parity ^ 1] + there.first;
  const auto num_a = static_cast<std::uint32_t>(here.num_a);
  const auto end = static_cast<std::uint32_t>(min(here.num_a * here.num_b, share.first + gpu_face_tile::cells));
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x, num_threads = blockDim.x * blockDim.y;
  for (auto i = static_cast<std::uint32_t>(share.first) + thread; i < end; i += num_threads) {
    const std::uint32_t b = i / num_a, a = i - b * num_a;
    const double* c = in + a * here.stride_a + b * here.stride_b;
    out[a * there.stride_a + b * there.stride_b] =
        updated<weighted>(t.formula, __ldg(c), __ldg(c - 1), __ldg(c + 1), __ldg(c - pitch), __ldg(c + pitch),
                          __ldg(c - plane), __ldg(c + plane));
  }
}

/// The halos' thread blocks come first: what goes to peers is on its way while the tiles are updated. With `one_block`
/// all that the tiles need stands at fixed places of the arguments.
template <class Shape, bool one_block, bool weighted>
__global__ void __launch_bounds__(Shape::threads, Shape::resident) step_kernel(const __grid_constant__ step_task t) {
  const int number = static_cast<int>(blockIdx.x) - t.num_faces;
  if (number < 0) {
    store_halo<weighted>(t, t.faces[blockIdx.x]);
    return;
  }
  int tile = t.backwards ? static_cast<int>(gridDim.x) - t.num_faces - 1 - number : number;
  const gpu_step_block& b = t.blocks[one_block ? 0 : t.of_block.divide(tile)];
  const gpu_tiling::place at = t.tiling.at(tile);
  cell_pair p;
  if (at.z >= b.nz || !place(p, at.x, at.y, 0, b.nx, b.ny, b.nx)) return;
  const field_view field{b.fields[t.parity], b.fields[t.parity ^ 1], t.pitch, t.plane, {b.x_fixed != 0, t.outside}};
  march<Shape, weighted>(field, t.formula, p, at.z, min(at.z + t.tiling.cut.depth, b.nz), no_sink{});
}

}  // namespace jacobi::gpu
