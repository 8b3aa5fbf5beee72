#pragma once

#include "kernels/gpu_stencil.cuh"

namespace jacobi::gpu {

/// What an update kernel is told: the cells x0 <= x < x1 and so on of a block of `nx`, and how they are cut.
struct update_task {
  field_view field;
  stencil formula;
  int x0 = 0, x1 = 0, y0 = 0, y1 = 0, z0 = 0, z1 = 0;
  int nx = 0;
  gpu_tiling tiling;  ///< of these cells, from an even x on
  bool backwards = false;

  __device__ __forceinline__ gpu_tiling::place tile() const {
    gpu_tiling::place t = tiling.at(static_cast<int>(backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x));
    return {(x0 & ~1) + t.x, y0 + t.y, z0 + t.z};
  }
};

template <class Shape, bool weighted>
__global__ void __launch_bounds__(Shape::threads, Shape::resident)
    update_kernel(const __grid_constant__ update_task t) {
  const gpu_tiling::place tile = t.tile();
  cell_pair p;
  if (!place(p, tile.x, tile.y, t.x0, t.x1, t.y1, t.nx)) return;
  march<Shape, weighted>(t.field, t.formula, p, tile.z, min(tile.z + t.tiling.cut.depth, t.z1), no_sink{});
}

}  // namespace jacobi::gpu
