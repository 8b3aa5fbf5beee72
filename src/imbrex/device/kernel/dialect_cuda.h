#pragma once

/// The macros of kernel_dialect.h for nvcc. What a `.cu` needs to launch kernels comes before this.

#if !defined(__CUDACC_RTC__)
#include <stdio.h>
#endif

#include "imbrex/device/kernel/cuda_items.h"

#if defined(__CUDACC_RTC__)
// A kernel from a string, which is launched by its name.
#define IX_CUDA_KERNEL(name, bounds, parameters) extern "C" __global__ void bounds name parameters
#else
#define IX_CUDA_KERNEL(name, bounds, parameters)                                                          \
  __global__ void bounds name parameters;                                                                 \
  void ix_cuda_##name(::imbrex::stream& s, const ::imbrex::launch_shape& shape, void* const* arguments) { \
    ::imbrex::detail::launch_function(s, #name, &name, shape, arguments);                                 \
  }                                                                                                       \
  __global__ void bounds name parameters
#endif
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
#define IX_ITEMS_BELOW_2(nx, ny) IX_ITEMS if (IX_GLOBAL_ID(0) < (nx) && IX_GLOBAL_ID(1) < (ny))
#define IX_ITEMS_BELOW_3(nx, ny, nz) \
  IX_ITEMS if (IX_GLOBAL_ID(0) < (nx) && IX_GLOBAL_ID(1) < (ny) && IX_GLOBAL_ID(2) < (nz))
#define IX_STREAM_BELOW(n, place, value) IX_ITEMS_BELOW(n) place = value
#define IX_PREFETCH_BELOW(n, place) static_cast<void>(0)
#define IX_SHARED __shared__
#define IX_DYNAMIC_SHARED(type, name)                                \
  extern __shared__ __align__(16) unsigned char ix_dynamic_shared[]; \
  type* const name = reinterpret_cast<type*>(ix_dynamic_shared)
#define IX_PRIVATE(type, name) type name
#define IX_MY(name) name
#define IX_CONSTANT [[maybe_unused]] static __constant__ const
#define IX_GROUP_VALUE(type, name)                                    \
  __shared__ type ix_scratch_##name[::imbrex::detail::group_scratch]; \
  type name {}
#define IX_GROUP_SUM(name, mine) name = ::imbrex::detail::group_sum(ix_scratch_##name, mine)
#define IX_GROUP_MIN(name, mine) name = ::imbrex::detail::group_min(ix_scratch_##name, mine)
#define IX_GROUP_MAX(name, mine) name = ::imbrex::detail::group_max(ix_scratch_##name, mine)
#define IX_GROUP_SCAN(name, mine) name = ::imbrex::detail::group_scan(ix_scratch_##name, mine)
#define IX_LOAD_HALF(p) ::imbrex::detail::load_half(p)
#define IX_STORE_HALF(p, value) ::imbrex::detail::store_half(p, value)
#define IX_DOUBLE2 double2
#define IX_FLOAT2 float2
#define IX_FLOAT4 float4
#define IX_INT2 int2
#define IX_INT4 int4
#define IX_MAKE_DOUBLE2(a, b) make_double2(a, b)
#define IX_MAKE_FLOAT2(a, b) make_float2(a, b)
#define IX_MAKE_FLOAT4(a, b, c, d) make_float4(a, b, c, d)
#define IX_MAKE_INT2(a, b) make_int2(a, b)
#define IX_MAKE_INT4(a, b, c, d) make_int4(a, b, c, d)
#define IX_LOAD_DOUBLE2(p) (*reinterpret_cast<const double2*>(p))
#define IX_STORE_DOUBLE2(p, v) (*reinterpret_cast<double2*>(p) = (v))
#define IX_LOAD_FLOAT2(p) (*reinterpret_cast<const float2*>(p))
#define IX_STORE_FLOAT2(p, v) (*reinterpret_cast<float2*>(p) = (v))
#define IX_LOAD_FLOAT4(p) (*reinterpret_cast<const float4*>(p))
#define IX_STORE_FLOAT4(p, v) (*reinterpret_cast<float4*>(p) = (v))
#define IX_LOAD_INT2(p) (*reinterpret_cast<const int2*>(p))
#define IX_STORE_INT2(p, v) (*reinterpret_cast<int2*>(p) = (v))
#define IX_LOAD_INT4(p) (*reinterpret_cast<const int4*>(p))
#define IX_STORE_INT4(p, v) (*reinterpret_cast<int4*>(p) = (v))
