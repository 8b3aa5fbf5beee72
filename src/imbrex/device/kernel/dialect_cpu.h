#pragma once

/// The macros of kernel_dialect.h for C++ compilers.

#include <math.h>
#include <stdio.h>

#include "imbrex/device/kernel/cpu_atomics.h"
#include "imbrex/device/kernel/cpu_private.h"
#include "imbrex/device/kernel/cpu_reductions.h"
#include "imbrex/device/kernel/cpu_streaming.h"
#include "imbrex/device/kernel/cpu_vector.h"
#include "imbrex/device/kernel/dialect_opencl.h"
#include "imbrex/device/kernel/half.h"
#include "imbrex/device/kernel/kernel.h"

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
#define IX_ITEMS_TO(x_end, y_end, z_end)                                              \
  for (int ix_local_2 = 0, ix_end_2 = (z_end); ix_local_2 < ix_end_2; ++ix_local_2)   \
    for (int ix_local_1 = 0, ix_end_1 = (y_end); ix_local_1 < ix_end_1; ++ix_local_1) \
      for (int ix_local_0 = 0, ix_end = (x_end); ix_local_0 < ix_end; ++ix_local_0)
#define IX_ITEMS IX_ITEMS_TO(ix_group.size(0), ix_group.size(1), ix_group.size(2))
#define IX_BELOW(d, n) ::imbrex::detail::items_below(ix_group, d, n)
#define IX_ITEMS_BELOW(n) IX_ITEMS_TO(IX_BELOW(0, n), ix_group.size(1), ix_group.size(2))
#define IX_ITEMS_BELOW_2(nx, ny) IX_ITEMS_TO(IX_BELOW(0, nx), IX_BELOW(1, ny), ix_group.size(2))
#define IX_ITEMS_BELOW_3(nx, ny, nz) IX_ITEMS_TO(IX_BELOW(0, nx), IX_BELOW(1, ny), IX_BELOW(2, nz))
#define IX_FIRST_ITEMS                                                    \
  for (int ix_local_2 = 0; ix_local_2 < ix_group.size(2); ++ix_local_2)   \
    for (int ix_local_1 = 0; ix_local_1 < ix_group.size(1); ++ix_local_1) \
      for (int ix_local_0 = 0, ix_once = 1; ix_once != 0; ix_once = 0)
#define IX_PREFETCH_BELOW(n, place) IX_FIRST_ITEMS::imbrex::detail::prefetch(&(place), IX_BELOW(0, n) - ix_local_0)
#define IX_STREAM_BELOW(n, place, value) \
  IX_FIRST_ITEMS::imbrex::detail::stream_out(&(place), &(value), IX_BELOW(0, n) - ix_local_0)
#define IX_SHARED alignas(64)
#define IX_DYNAMIC_SHARED(type, name) type* const __restrict__ name = static_cast<type*>(ix_shared)
#define IX_PRIVATE(type, name) alignas(64) type name[decltype(ix_group)::max_items]
#define IX_MY(name) \
  ::imbrex::detail::of_item(name, (ix_local_2 * ix_group.size(1) + ix_local_1) * ix_group.size(0) + ix_local_0)
#define IX_CONSTANT [[maybe_unused]] static constexpr
#define IX_GROUP_VALUE(type, name)                                                    \
  [[maybe_unused]] alignas(64) type ix_scratch_##name[decltype(ix_group)::max_items]; \
  type name {}
#define IX_NUM_ITEMS (ix_group.size(0) * ix_group.size(1) * ix_group.size(2))
#define IX_GROUP_SUM(name, mine) name = ::imbrex::detail::group_sum(ix_scratch_##name, mine, IX_NUM_ITEMS)
#define IX_GROUP_MIN(name, mine) name = ::imbrex::detail::group_min(ix_scratch_##name, mine, IX_NUM_ITEMS)
#define IX_GROUP_MAX(name, mine) name = ::imbrex::detail::group_max(ix_scratch_##name, mine, IX_NUM_ITEMS)
#define IX_GROUP_SCAN(name, mine) name = ::imbrex::detail::group_scan(mine, IX_NUM_ITEMS)
#define IX_LOAD_HALF(p) static_cast<float>(*(p))
#define IX_STORE_HALF(p, value) (*(p) = ::imbrex::half(value))
#define IX_DOUBLE2 ::imbrex::detail::cpu_vector_2<double>
#define IX_MAKE_DOUBLE2(a, b) (IX_DOUBLE2{(a), (b)})
#define IX_LOAD_DOUBLE2(p) ::imbrex::detail::load_2<double>(p)
#define IX_STORE_DOUBLE2(p, v) ::imbrex::detail::store_2<double>(p, v)
#define IX_FLOAT2 ::imbrex::detail::cpu_vector_2<float>
#define IX_MAKE_FLOAT2(a, b) (IX_FLOAT2{(a), (b)})
#define IX_LOAD_FLOAT2(p) ::imbrex::detail::load_2<float>(p)
#define IX_STORE_FLOAT2(p, v) ::imbrex::detail::store_2<float>(p, v)
#define IX_FLOAT4 ::imbrex::detail::cpu_vector_4<float>
#define IX_MAKE_FLOAT4(a, b, c, d) (IX_FLOAT4{(a), (b), (c), (d)})
#define IX_LOAD_FLOAT4(p) ::imbrex::detail::load_4<float>(p)
#define IX_STORE_FLOAT4(p, v) ::imbrex::detail::store_4<float>(p, v)
#define IX_INT2 ::imbrex::detail::cpu_vector_2<int>
#define IX_MAKE_INT2(a, b) (IX_INT2{(a), (b)})
#define IX_LOAD_INT2(p) ::imbrex::detail::load_2<int>(p)
#define IX_STORE_INT2(p, v) ::imbrex::detail::store_2<int>(p, v)
#define IX_INT4 ::imbrex::detail::cpu_vector_4<int>
#define IX_MAKE_INT4(a, b, c, d) (IX_INT4{(a), (b), (c), (d)})
#define IX_LOAD_INT4(p) ::imbrex::detail::load_4<int>(p)
#define IX_STORE_INT4(p, v) ::imbrex::detail::store_4<int>(p, v)

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
