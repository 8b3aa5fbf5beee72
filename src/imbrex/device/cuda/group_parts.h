#pragma once

#include <imbrex/base/build_config.h>

#if defined(__CUDACC__)

namespace imbrex {

namespace detail {

template <class T, class Combine>
__device__ __forceinline__ void store_combined(T* part, T value, Combine combine) {
  constexpr unsigned all = 0xFFFFFFFFU, warp = 32;
  for (unsigned distance = warp / 2; distance > 0; distance /= 2)
    value = combine(value, __shfl_down_sync(all, value, distance));
  __shared__ T of_warps[warp];
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned num_warps = blockDim.x * blockDim.y * blockDim.z / warp;
  if (thread % warp == 0) of_warps[thread / warp] = value;
  __syncthreads();
  if (thread != 0) return;
  for (unsigned w = 1; w < num_warps; ++w) value = combine(value, of_warps[w]);
  *part = value;
}

}  // namespace detail

/// Stores what the values of all threads of the thread block give together, always in the same order: `parts[group]` of
/// a `round_value`, where `group` is the block's number among those of its launch (`kernel_batch::group`). All threads
/// of the block call it, once; a multiple of 32 threads.
template <class T>
__device__ __forceinline__ void store_sum(T* parts, unsigned group, T value) {
  detail::store_combined(parts + group, value, [](T a, T b) { return a + b; });
}
/// As `store_sum`, the greatest.
template <class T>
__device__ __forceinline__ void store_max(T* parts, unsigned group, T value) {
  detail::store_combined(parts + group, value, [](T a, T b) { return a < b ? b : a; });
}

}  // namespace imbrex

#endif
