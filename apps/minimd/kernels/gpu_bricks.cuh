#pragma once

#include "kernels/gpu_system.h"

namespace md::gpu {

constexpr int sub_bins = 4;  // in each direction of a brick, for the order of its atoms

__device__ __forceinline__ int clamped(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

/// The brick at `offset` (-1, 0 or 1) from `i` of `n`, and by how many lengths what is there has to be shifted.
__device__ __forceinline__ int wrapped(int i, int offset, int n, int& shift) {
  const int j = i + offset;
  shift = j < 0 ? -1 : j >= n ? 1 : 0;
  return j - shift * n;
}

__device__ __forceinline__ void add_image(vector4& p, unsigned image, const gpu_bricks& b) {
  p.x += (static_cast<int>(image % 3) - 1) * b.length[0];
  p.y += (static_cast<int>(image / 3 % 3) - 1) * b.length[1];
  p.z += (static_cast<int>(image / 9) - 1) * b.length[2];
}

constexpr unsigned own_image = 13;
constexpr gpu_staged index_mask = (gpu_staged{1} << gpu_index_bits) - 1;

}  // namespace md::gpu
