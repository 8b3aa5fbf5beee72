#pragma once

#include <cuda_runtime_api.h>

namespace imbrex {

/// What a kernel started by `launch_marked` is given, so that its own last instruction tells the host that it has
/// finished: no other operation is needed behind it, and the news arrives earlier than by one.
struct kernel_mark {
  unsigned long long* flag = nullptr;  ///< the stream's, in pinned memory; null: somebody else tells the host
  unsigned long long number = 0;       ///< of the kernel in its stream
  unsigned* num_arrived = nullptr;     ///< thread blocks, in the GPU's memory; 0 between kernels

#if defined(__CUDACC__)
  /// Every thread of every thread block calls it once, when it has written all its results; nothing may follow.
  __device__ __forceinline__ void reached() const {
    if (flag == nullptr) return;
    __syncthreads();
    if ((threadIdx.x | threadIdx.y | threadIdx.z) != 0) return;
    const unsigned num_blocks = gridDim.x * gridDim.y * gridDim.z;
    __threadfence();  // the results of the whole thread block, seen by whoever sees it counted
    if (num_blocks > 1 && atomicInc(num_arrived, num_blocks - 1) != num_blocks - 1) return;
    __threadfence_system();
    *static_cast<volatile unsigned long long*>(flag) = number;
  }
#endif
};

}  // namespace imbrex
