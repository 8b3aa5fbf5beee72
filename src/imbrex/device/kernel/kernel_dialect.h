#pragma once

/// The macros that kernels are written with, once for the CPU, CUDA and OpenCL: see docs/kernels.md for each. A `.cc`
/// includes this (or imbrex.h) and then the `.hk` file, which declares `extern const imbrex::kernel<void(...)> name`;
/// what `imbrex_add_kernel_files` generates defines it.
///
///   IX_KERNEL(saxpy, (int n, float a, IX_GLOBAL const float* x, IX_GLOBAL float* y)) {
///     IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); y[i] += a * x[i]; }
///   }

#define IX_UNPACK(...) __VA_ARGS__

// What a `.cu` needs to launch kernels comes before this.

#if defined(__CUDACC__)
#include "imbrex/device/kernel/dialect_cuda.h"
#else
#include "imbrex/device/kernel/dialect_cpu.h"
#endif

// What C++ compilers and nvcc find under the same names, in cpu_atomics.h and cpu_reductions.h, or in cuda_items.h.
#define IX_MIN(a, b) ::imbrex::detail::smaller(a, b)
#define IX_MAX(a, b) ::imbrex::detail::larger(a, b)
#define IX_ATOMIC_ADD(p, v) ::imbrex::detail::atomic_add(p, v)
#define IX_ATOMIC_MIN(p, v) ::imbrex::detail::atomic_min(p, v)
#define IX_ATOMIC_MAX(p, v) ::imbrex::detail::atomic_max(p, v)
#define IX_ATOMIC_SWAP(p, v) ::imbrex::detail::atomic_swap(p, v)
#define IX_ATOMIC_CAS(p, expected, v) ::imbrex::detail::atomic_cas(p, expected, v)
#define IX_HALF ::imbrex::half

// The text is made here, where the macros in the kernel have not been replaced.
#define IX_INLINE_TEXT(region, name, parameters, statement) \
  name ", " parameters ") { " region " { const int i = IX_GLOBAL_ID(0); " statement
/// For a `.cc`: a kernel of one statement, run for each item, `i` being IX_GLOBAL_ID(0). For CUDA too where the `.cc`
/// is named in imbrex_add_kernel_files.
#define IX_INLINE_KERNEL(name, parameters, ...)                                                                 \
  IX_INLINE_KERNEL_IN(IX_ITEMS, IX_INLINE_TEXT("IX_ITEMS", #name, #parameters, #__VA_ARGS__), name, parameters, \
                      __VA_ARGS__)
/// The same for the items whose `i` is below `n`, an expression of the parameters: on the CPU the loop ends there.
#define IX_INLINE_KERNEL_BELOW(name, parameters, n, ...)                                                             \
  IX_INLINE_KERNEL_IN(IX_ITEMS_BELOW(n), IX_INLINE_TEXT("IX_ITEMS_BELOW(" #n ")", #name, #parameters, #__VA_ARGS__), \
                      name, parameters, __VA_ARGS__)
