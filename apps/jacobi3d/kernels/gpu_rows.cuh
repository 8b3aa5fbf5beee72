#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/gpu_layout.h"

/// Device code of kernels that go through a block row by row, one warp each at a time.
namespace jacobi::gpu {

constexpr unsigned row_threads = 256, row_warps = row_threads / 32, most_row_blocks = 2048;

/// Calls `f(index of the row's first cell, y, z)` for the rows of this warp.
template <class F>
__device__ __forceinline__ void for_each_row(const gpu_layout& layout, const F& f) {
  const std::int64_t num = layout.size.ny * layout.size.nz, step = std::int64_t{gridDim.x} * row_warps;
  for (std::int64_t r = std::int64_t{blockIdx.x} * row_warps + threadIdx.x / 32; r < num; r += step) {
    const std::int64_t z = r / layout.size.ny, y = r - z * layout.size.ny;
    f(layout.index(0, y, z), y, z);
  }
}

inline unsigned blocks_for_rows(const gpu_layout& layout) {
  const std::int64_t rows = layout.size.ny * layout.size.nz;
  return static_cast<unsigned>(std::min<std::int64_t>((rows + row_warps - 1) / row_warps, most_row_blocks));
}

/// `imbrex::mix` on the device.
__device__ __forceinline__ unsigned long long mixed(unsigned long long x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace jacobi::gpu
