#pragma once

#include "gpu_halo_store.cuh"
#include "gpu_tiles.h"

namespace jacobi::gpu {

template <class Shape>
using plane_by_plane = march_shape<Shape::columns, Shape::rows, 1, false, Shape::threads * Shape::resident>;

/// The ghosts of a block's neighbours in their next fields.
struct neighbour_ghosts {
  static constexpr bool pairs = true;
  const gpu_neighbour* neighbours = nullptr;
  int next = 0;

  __device__ __forceinline__ double* at(face f, std::int64_t a, std::int64_t b) const {
    const gpu_neighbour& n = neighbours[static_cast<int>(f)];
    return n.fields[next] + n.first + a * n.stride_a + b * n.stride_b;
  }
};

/// One thread block, of gpu_tiling's cells and rows, for each tile. Odd iterations run through the tiles backwards:
/// what the last one touched last is still in the cache.
template <class Shape, bool weighted>
__global__ void __launch_bounds__(Shape::threads, Shape::resident)
    step_kernel(const gpu_block_entry* __restrict__ table, const gpu_tile* __restrict__ tiles, stencil formula,
                int parity) {
  const gpu_tile t = tiles[parity != 0 ? gridDim.x - 1 - blockIdx.x : blockIdx.x];
  const gpu_block_entry& block = table[t.block];
  const gpu_layout& layout = block.layout;
  const int nx = static_cast<int>(layout.size.nx), ny = static_cast<int>(layout.size.ny);
  cell_pair p;
  if (!place(p, t.x0, t.y0, 0, nx, ny)) return;
  const field_view field = view(layout, block.fields[parity], block.fields[parity ^ 1]);
  if (t.flags == gpu_tile::streams) {
    march<Shape, true, weighted>(field, formula, p, t.z0, t.z1, no_sink{});
  } else if (t.flags == 0) {
    march<Shape, false, weighted>(field, formula, p, t.z0, t.z1, no_sink{});
  } else {
    const halo_store<neighbour_ghosts> sink{
        {block.neighbours, parity ^ 1}, t.flags, nx, ny, static_cast<int>(layout.size.nz)};
    march<plane_by_plane<Shape>, false, weighted>(field, formula, p, t.z0, t.z1, sink);
  }
}

}  // namespace jacobi::gpu
