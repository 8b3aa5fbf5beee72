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

#define IX_CUDA_KERNEL(name, bounds, parameters)                                                          \
  __global__ void bounds name parameters;                                                                 \
  void ix_cuda_##name(::imbrex::stream& s, const ::imbrex::launch_shape& shape, void* const* arguments) { \
    ::imbrex::detail::launch_function(s, #name, &name, shape, arguments);                                 \
  }                                                                                                       \
  __global__ void bounds name parameters
#define IX_PRODUCT(x, y, z) ((x) * (y) * (z))
#define IX_KERNEL(name, parameters) IX_CUDA_KERNEL(name, , parameters)
#define IX_KERNEL_OF_GROUP(name, group, parameters) \
  IX_CUDA_KERNEL(name, __launch_bounds__(IX_PRODUCT group), parameters)
#define IX_KERNEL_RESIDENT(name, group, groups, parameters) \
  IX_CUDA_KERNEL(name, __launch_bounds__(IX_PRODUCT group, groups), parameters)
#define IX_INLINE_KERNEL_IN(region, text, name, parameters, ...) \
  IX_KERNEL(name, parameters) {                                  \
    region {                                                     \
      const int i = IX_GLOBAL_ID(0);                             \
      __VA_ARGS__;                                               \
    }                                                            \
  }                                                              \
  static_assert(true)
#define IX_FUNCTION [[maybe_unused]] static __device__
#define IX_GLOBAL
#define IX_LOCAL
#define IX_RESTRICT __restrict__
#define IX_AXIS_0(v) static_cast<int>(v.x)
#define IX_AXIS_1(v) static_cast<int>(v.y)
#define IX_AXIS_2(v) static_cast<int>(v.z)
#define IX_GROUP_ID(d) IX_AXIS_##d(blockIdx)
#define IX_NUM_GROUPS(d) IX_AXIS_##d(gridDim)
#define IX_GROUP_SIZE(d) IX_AXIS_##d(blockDim)
#define IX_LOCAL_ID(d) IX_AXIS_##d(threadIdx)
#define IX_GLOBAL_ID(d) (IX_GROUP_ID(d) * IX_GROUP_SIZE(d) + IX_LOCAL_ID(d))
#define IX_ITEMS for (int ix_once = 1; ix_once != 0; ix_once = 0, __syncthreads())
#define IX_ITEMS_BELOW(n) IX_ITEMS if (IX_GLOBAL_ID(0) < (n))
#define IX_STREAM_BELOW(n, place, value) IX_ITEMS_BELOW(n) place = value
#define IX_PREFETCH_BELOW(n, place) static_cast<void>(0)
#define IX_SHARED __shared__
#define IX_DYNAMIC_SHARED(type, name)                                \
  extern __shared__ __align__(16) unsigned char ix_dynamic_shared[]; \
  type* const name = reinterpret_cast<type*>(ix_dynamic_shared)
#define IX_PRIVATE(type, name) type name
#define IX_MY(name) name
#define IX_DOUBLE2 double2
#define IX_FLOAT2 float2
#define IX_MAKE_DOUBLE2(a, b) make_double2(a, b)
#define IX_MAKE_FLOAT2(a, b) make_float2(a, b)
#define IX_LOAD_DOUBLE2(p) (*reinterpret_cast<const double2*>(p))
#define IX_LOAD_FLOAT2(p) (*reinterpret_cast<const float2*>(p))
#define IX_STORE_DOUBLE2(p, pair) (*reinterpret_cast<double2*>(p) = (pair))
#define IX_STORE_FLOAT2(p, pair) (*reinterpret_cast<float2*>(p) = (pair))

#else

#include <math.h>

#include "imbrex/device/kernel/cpu_pair.h"
#include "imbrex/device/kernel/cpu_private.h"
#include "imbrex/device/kernel/cpu_streaming.h"
#include "imbrex/device/kernel/kernel.h"

/// In front of every OpenCL program. A kernel's first parameter, IX_FIRST, is its dynamic shared memory; kernel_text.h
/// puts it there.
#define IX_OPENCL_DIALECT                                                                                     \
  "#ifdef cl_khr_fp64\n"                                                                                      \
  "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"                                                           \
  "#endif\n"                                                                                                  \
  "#pragma OPENCL FP_CONTRACT OFF\n"                                                                          \
  "#define IX_FIRST __local ulong2* ix_dynamic_shared,\n"                                                     \
  "#define IX_KERNEL(name, parameters) __kernel void name parameters\n"                                       \
  "#define IX_KERNEL_OF_GROUP(name, group, parameters) \\\n"                                                  \
  "  __kernel __attribute__((reqd_work_group_size group)) void name parameters\n"                             \
  "#define IX_KERNEL_RESIDENT(name, group, groups, parameters) IX_KERNEL_OF_GROUP(name, group, parameters)\n" \
  "#define IX_FUNCTION static\n"                                                                              \
  "#define IX_GLOBAL __global\n"                                                                              \
  "#define IX_LOCAL __local\n"                                                                                \
  "#define IX_RESTRICT restrict\n"                                                                            \
  "#define IX_GROUP_ID(d) ((int)get_group_id(d))\n"                                                           \
  "#define IX_NUM_GROUPS(d) ((int)get_num_groups(d))\n"                                                       \
  "#define IX_GROUP_SIZE(d) ((int)get_local_size(d))\n"                                                       \
  "#define IX_LOCAL_ID(d) ((int)get_local_id(d))\n"                                                           \
  "#define IX_GLOBAL_ID(d) ((int)get_global_id(d))\n"                                                         \
  "#define IX_ITEMS for (int ix_once = 1; ix_once != 0; \\\n"                                                 \
  "  ix_once = 0, barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE))\n"                                     \
  "#define IX_ITEMS_BELOW(n) IX_ITEMS if (IX_GLOBAL_ID(0) < (n))\n"                                           \
  "#define IX_STREAM_BELOW(n, place, value) IX_ITEMS_BELOW(n) place = value\n"                                \
  "#define IX_PREFETCH_BELOW(n, place) (void)0\n"                                                             \
  "#define IX_SHARED __local\n"                                                                               \
  "#define IX_DYNAMIC_SHARED(type, name) __local type* const name = (__local type*)ix_dynamic_shared\n"       \
  "#define IX_PRIVATE(type, name) type name\n"                                                                \
  "#define IX_MY(name) name\n"                                                                                \
  "#define IX_DOUBLE2 double2\n"                                                                              \
  "#define IX_FLOAT2 float2\n"                                                                                \
  "#define IX_MAKE_DOUBLE2(a, b) ((double2)(a, b))\n"                                                         \
  "#define IX_MAKE_FLOAT2(a, b) ((float2)(a, b))\n"                                                           \
  "#define IX_LOAD_DOUBLE2(p) (*(__global const double2*)(p))\n"                                              \
  "#define IX_LOAD_FLOAT2(p) (*(__global const float2*)(p))\n"                                                \
  "#define IX_STORE_DOUBLE2(p, pair) (*(__global double2*)(p) = (pair))\n"                                    \
  "#define IX_STORE_FLOAT2(p, pair) (*(__global float2*)(p) = (pair))\n"

// `group` is (x, y, z), or () where any size will do.
#define IX_CPU_TYPES(name, group, parameters)                      \
  using ix_group_##name = ::imbrex::cpu_group_of<IX_UNPACK group>; \
  using ix_signature_##name = void parameters
#define IX_CPU_BODY(name, parameters)                                                    \
  [[maybe_unused]] static void ix_body_##name([[maybe_unused]] ix_group_##name ix_group, \
                                              [[maybe_unused]] void* __restrict__ ix_shared, IX_UNPACK parameters)
#define IX_CPU_FUNCTION(name) (&::imbrex::detail::group_runner<&ix_body_##name>::run)
// The file that defines the kernels has their loops several times: for each instruction set in a namespace of its own.
#if defined(__x86_64__) && defined(__OPTIMIZE__)
#define IX_CPU_FORMS(name)                                                                       \
  ::imbrex::cpu_forms {                                                                          \
    IX_CPU_FUNCTION(name), &::imbrex::detail::group_runner<&::ix_for_avx2::ix_body_##name>::run, \
        &::imbrex::detail::group_runner<&::ix_for_avx512::ix_body_##name>::run                   \
  }
#else
#define IX_CPU_FORMS(name) \
  ::imbrex::cpu_forms { IX_CPU_FUNCTION(name) }
#endif

#if defined(IX_KERNELS_ON_CUDA) || defined(IX_INLINE_KERNELS_ON_CUDA)
#define IX_CUDA_DECLARED(name) \
  void ix_cuda_##name(::imbrex::stream& s, const ::imbrex::launch_shape& shape, void* const* arguments);
#define IX_CUDA_FUNCTION(name) (&ix_cuda_##name)
#else
#define IX_CUDA_DECLARED(name)
#define IX_CUDA_FUNCTION(name) nullptr
#endif

#define IX_CPU_LOOPS(name, group, parameters) \
  IX_CPU_TYPES(name, group, parameters);      \
  IX_CPU_BODY(name, parameters)
#define IX_CPU_DEFINED(name, group, parameters)                                                                   \
  IX_CPU_TYPES(name, group, parameters);                                                                          \
  IX_CPU_BODY(name, parameters);                                                                                  \
  IX_CUDA_DECLARED(name)                                                                                          \
  extern const ::imbrex::kernel<ix_signature_##name> name;                                                        \
  constexpr ::imbrex::kernel<ix_signature_##name> name(#name, IX_CPU_FORMS(name), IX_CUDA_FUNCTION(name),         \
                                                       IX_KERNEL_TEXT, ::imbrex::detail::fixed<IX_UNPACK group>); \
  IX_CPU_BODY(name, parameters)
// The generated file that defines the kernels says itself which of both IX_CPU_KERNEL is.
#if !defined(IX_KERNEL_TEXT)
#define IX_CPU_KERNEL(name, group, parameters)             \
  IX_CPU_TYPES(name, group, parameters);                   \
  extern const ::imbrex::kernel<ix_signature_##name> name; \
  IX_CPU_BODY(name, parameters)
#endif

#define IX_KERNEL(name, parameters) IX_CPU_KERNEL(name, (), parameters)
#define IX_KERNEL_OF_GROUP(name, group, parameters) IX_CPU_KERNEL(name, group, parameters)
#define IX_KERNEL_RESIDENT(name, group, groups, parameters) IX_CPU_KERNEL(name, group, parameters)
#define IX_FUNCTION [[maybe_unused]] static inline
#define IX_GLOBAL
#define IX_LOCAL
#define IX_RESTRICT __restrict__
#define IX_GROUP_ID(d) ix_group.id(d)
#define IX_NUM_GROUPS(d) ix_group.num_groups(d)
#define IX_GROUP_SIZE(d) ix_group.size(d)
#define IX_LOCAL_ID(d) ix_local_##d
#define IX_GLOBAL_ID(d) (IX_GROUP_ID(d) * IX_GROUP_SIZE(d) + IX_LOCAL_ID(d))
#define IX_ITEMS_TO(end)                                                  \
  for (int ix_local_2 = 0; ix_local_2 < ix_group.size(2); ++ix_local_2)   \
    for (int ix_local_1 = 0; ix_local_1 < ix_group.size(1); ++ix_local_1) \
      for (int ix_local_0 = 0, ix_end = (end); ix_local_0 < ix_end; ++ix_local_0)
#define IX_ITEMS IX_ITEMS_TO(ix_group.size(0))
#define IX_ITEMS_BELOW(n) IX_ITEMS_TO(::imbrex::detail::items_below(ix_group, n))
#define IX_FIRST_ITEMS                                                    \
  for (int ix_local_2 = 0; ix_local_2 < ix_group.size(2); ++ix_local_2)   \
    for (int ix_local_1 = 0; ix_local_1 < ix_group.size(1); ++ix_local_1) \
      for (int ix_local_0 = 0, ix_once = 1; ix_once != 0; ix_once = 0)
#define IX_PREFETCH_BELOW(n, place) \
  IX_FIRST_ITEMS::imbrex::detail::prefetch(&(place), ::imbrex::detail::items_below(ix_group, n) - ix_local_0)
#define IX_STREAM_BELOW(n, place, value)                         \
  IX_FIRST_ITEMS::imbrex::detail::stream_out(&(place), &(value), \
                                             ::imbrex::detail::items_below(ix_group, n) - ix_local_0)
#define IX_SHARED alignas(64)
#define IX_DYNAMIC_SHARED(type, name) type* const __restrict__ name = static_cast<type*>(ix_shared)
#define IX_PRIVATE(type, name) alignas(64) type name[decltype(ix_group)::max_items]
#define IX_MY(name) \
  ::imbrex::detail::of_item(name, (ix_local_2 * ix_group.size(1) + ix_local_1) * ix_group.size(0) + ix_local_0)

#define IX_DOUBLE2 ::imbrex::detail::cpu_pair<double>
#define IX_FLOAT2 ::imbrex::detail::cpu_pair<float>
#define IX_MAKE_DOUBLE2(a, b) (::imbrex::detail::cpu_pair<double>{(a), (b)})
#define IX_MAKE_FLOAT2(a, b) (::imbrex::detail::cpu_pair<float>{(a), (b)})
#define IX_LOAD_DOUBLE2(p) ::imbrex::detail::load_pair<double>(p)
#define IX_LOAD_FLOAT2(p) ::imbrex::detail::load_pair<float>(p)
#define IX_STORE_DOUBLE2(p, pair) ::imbrex::detail::store_pair<double>(p, pair)
#define IX_STORE_FLOAT2(p, pair) ::imbrex::detail::store_pair<float>(p, pair)

#define IX_STRING(text) #text
#define IX_LINE(line) IX_STRING(line)
#define IX_INLINE_KERNEL_IN(region, text, name, parameters, ...)                                    \
  IX_CPU_TYPES(name, (), parameters);                                                               \
  IX_CPU_BODY(name, parameters);                                                                    \
  IX_CUDA_DECLARED(name)                                                                            \
  [[maybe_unused]] static constexpr ::imbrex::kernel<ix_signature_##name> name(                     \
      #name, ::imbrex::cpu_forms{IX_CPU_FUNCTION(name)}, IX_CUDA_FUNCTION(name),                    \
      IX_OPENCL_DIALECT "#line " IX_LINE(__LINE__) " \"" __FILE__ "\"\nIX_KERNEL(" text "; } }\n"); \
  IX_CPU_BODY(name, parameters) {                                                                   \
    region {                                                                                        \
      const int i = IX_GLOBAL_ID(0);                                                                \
      __VA_ARGS__;                                                                                  \
    }                                                                                               \
  }                                                                                                 \
  static_assert(true)

#endif

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
