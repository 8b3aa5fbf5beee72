#pragma once

#include "gpu_stencil.cuh"

namespace jacobi::gpu {

/// What an update kernel is told: the cells x0 <= x < x1 and so on, cut into tiles of `depth` planes.
struct update_task {
  field_view field;
  stencil formula;
  int x0 = 0, x1 = 0, y0 = 0, y1 = 0, z0 = 0, z1 = 0;
  int depth = 1;
  bool backwards = false;

  __device__ __forceinline__ int tile_plane() const {
    return z0 + static_cast<int>(backwards ? gridDim.z - 1 - blockIdx.z : blockIdx.z) * depth;
  }
  /// Of thread blocks of columns x rows threads.
  dim3 grid(int columns, int rows) const {
    const auto tiles = [](int cells, int each) { return static_cast<unsigned>((cells + each - 1) / each); };
    return dim3(tiles(x1 - (x0 & ~1), 2 * columns), tiles(y1 - y0, rows), tiles(z1 - z0, depth));
  }
};

template <class Shape, bool streaming, bool weighted>
__global__ void __launch_bounds__(Shape::threads, Shape::resident)
    update_kernel(const __grid_constant__ update_task t) {
  cell_pair p;
  const int first_x = (t.x0 & ~1) + static_cast<int>(blockIdx.x) * 2 * Shape::columns;
  if (!place(p, first_x, t.y0 + static_cast<int>(blockIdx.y) * Shape::rows, t.x0, t.x1, t.y1)) return;
  const int z0 = t.tile_plane();
  march<Shape, streaming, weighted>(t.field, t.formula, p, z0, min(z0 + t.depth, t.z1), no_sink{});
}

}  // namespace jacobi::gpu
