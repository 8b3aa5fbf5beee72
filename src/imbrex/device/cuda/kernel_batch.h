#pragma once

#include "imbrex/device/cuda/cuda_launch.h"

namespace imbrex {

/// The arguments of one launch, or of several of the same kernel that were made one (`repeat`): which of them a thread
/// block works for, and which block it is there.
///
///     __global__ void update(const __grid_constant__ imbrex::kernel_batch<sweep> all) {
///       all.visit([&](const sweep& t, dim3 block) { ... });   // `block` in the place of blockIdx
///
/// or, where the kernel's code must not be there twice, by `arguments()` and `block()`.
template <class A>
struct kernel_batch {
  static_assert(alignof(A) <= 16);
  const A* many = nullptr;  ///< null: there is `one`
  unsigned depth = 1;       ///< of `many` each has so many blocks in z
  unsigned unused = 0;
  alignas(16) A one{};

#if defined(__CUDACC__)
  __device__ __forceinline__ const A& arguments() const { return many == nullptr ? one : many[blockIdx.z / depth]; }
  __device__ __forceinline__ dim3 block() const {
    return {blockIdx.x, blockIdx.y, many == nullptr ? blockIdx.z : blockIdx.z % depth};
  }
  /// Calls `f(arguments(), block())`, inlined twice: for arguments that came with the launch, which are read where they
  /// are, and for those in memory. To read them by `arguments()` alone, which may be either, made kernels that wait for
  /// memory take a tenth longer (measured).
  template <class F>
  __device__ __forceinline__ void visit(const F& f) const {
    if (many == nullptr) {
      f(one, dim3(blockIdx));
    } else {
      const A* const mine = many + blockIdx.z / depth;
      __builtin_assume(__isGlobal(mine));
      f(*mine, block());
    }
  }
  /// The number of `block()` among those of its launch.
  __device__ __forceinline__ unsigned group() const {
    const dim3 b = block();
    return b.x + gridDim.x * (b.y + gridDim.y * b.z);
  }
#endif
};

#if defined(__CUDACC__)
/// `launch` of a kernel that may be launched once for many chares of a GPU: its only parameter is a `kernel_batch`. It
/// uses `block()` in the place of `blockIdx`, and no `gridDim.z`. `grid` in thread blocks and `block` in threads are of
/// this launch alone: those of equal size become one, in rounds that are repeated; at other times it is a launch as
/// any. `arguments` is copied at once; the memory that it points to must live until the kernel has run, or, in rounds
/// that are repeated, until these are over. Let it begin as `{}`: rounds are compared byte by byte, gaps too. Returns
/// at once, in the order of `s`, and throws, as `launch`.
template <class A>
void launch_batch(stream& s, const char* name, void (*kernel)(kernel_batch<A>), dim3 grid, dim3 block,
                  std::size_t shared_bytes, const A& arguments) {
  detail::cuda_launch at(s, name);
  kernel_batch<A> all;
  all.one = arguments;
  void* places[] = {&all, nullptr};
  at.run(reinterpret_cast<const void*>(kernel), grid, block, shared_bytes, detail::values_of(kernel, places),
         sizeof(A));
}
#endif

}  // namespace imbrex
