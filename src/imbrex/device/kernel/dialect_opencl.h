#pragma once

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
  "#define IX_ITEMS_BELOW_2(nx, ny) IX_ITEMS if (IX_GLOBAL_ID(0) < (nx) && IX_GLOBAL_ID(1) < (ny))\n"         \
  "#define IX_ITEMS_BELOW_3(nx, ny, nz) \\\n"                                                                 \
  "  IX_ITEMS if (IX_GLOBAL_ID(0) < (nx) && IX_GLOBAL_ID(1) < (ny) && IX_GLOBAL_ID(2) < (nz))\n"              \
  "#define IX_STREAM_BELOW(n, place, value) IX_ITEMS_BELOW(n) place = value\n"                                \
  "#define IX_PREFETCH_BELOW(n, place) (void)0\n"                                                             \
  "#define IX_SHARED __local\n"                                                                               \
  "#define IX_DYNAMIC_SHARED(type, name) __local type* const name = (__local type*)ix_dynamic_shared\n"       \
  "#define IX_PRIVATE(type, name) type name\n"                                                                \
  "#define IX_MY(name) name\n"                                                                                \
  "#define IX_CONSTANT __constant\n"                                                                          \
  "#define IX_MIN(a, b) min(a, b)\n"                                                                          \
  "#define IX_MAX(a, b) max(a, b)\n"                                                                          \
  "#define IX_ATOMIC_ADD(p, v) ix_atomic_add(p, v)\n"                                                         \
  "#define IX_ATOMIC_MIN(p, v) ix_atomic_min(p, v)\n"                                                         \
  "#define IX_ATOMIC_MAX(p, v) ix_atomic_max(p, v)\n"                                                         \
  "#define IX_ATOMIC_SWAP(p, v) ix_atomic_swap(p, v)\n"                                                       \
  "#define IX_ATOMIC_CAS(p, expected, v) ix_atomic_cas(p, expected, v)\n"                                     \
  "#define IX_OVERLOAD __attribute__((overloadable)) static inline\n"                                         \
  "#define IX_ATOMICS_OF_INTEGERS(space, T, word) \\\n"                                                       \
  "  IX_OVERLOAD T ix_atomic_add(volatile space T* p, T v) { return word##_add(p, v); } \\\n"                 \
  "  IX_OVERLOAD T ix_atomic_min(volatile space T* p, T v) { return word##_min(p, v); } \\\n"                 \
  "  IX_OVERLOAD T ix_atomic_max(volatile space T* p, T v) { return word##_max(p, v); } \\\n"                 \
  "  IX_OVERLOAD T ix_atomic_swap(volatile space T* p, T v) { return word##_xchg(p, v); } \\\n"               \
  "  IX_OVERLOAD T ix_atomic_cas(volatile space T* p, T e, T v) { return word##_cmpxchg(p, e, v); }\n"        \
  "#define IX_ATOMIC_CHANGE(name, space, T, I, word, changed) \\\n"                                           \
  "  IX_OVERLOAD T name(volatile space T* p, T v) { \\\n"                                                     \
  "    volatile space I* q = (volatile space I*)p; \\\n"                                                      \
  "    I old = *q; \\\n"                                                                                      \
  "    for (;;) { \\\n"                                                                                       \
  "      T x = as_##T(old); \\\n"                                                                             \
  "      I seen = word##_cmpxchg(q, old, as_##I(changed)); \\\n"                                              \
  "      if (seen == old) return x; \\\n"                                                                     \
  "      old = seen; \\\n"                                                                                    \
  "    } \\\n"                                                                                                \
  "  }\n"                                                                                                     \
  "#define IX_ATOMICS_OF_FLOATS(space, T, I, word) \\\n"                                                      \
  "  IX_ATOMIC_CHANGE(ix_atomic_add, space, T, I, word, x + v) \\\n"                                          \
  "  IX_ATOMIC_CHANGE(ix_atomic_min, space, T, I, word, v < x ? v : x) \\\n"                                  \
  "  IX_ATOMIC_CHANGE(ix_atomic_max, space, T, I, word, x < v ? v : x) \\\n"                                  \
  "  IX_ATOMIC_CHANGE(ix_atomic_swap, space, T, I, word, v)\n"                                                \
  "IX_ATOMICS_OF_INTEGERS(__global, int, atomic)\n"                                                           \
  "IX_ATOMICS_OF_INTEGERS(__global, uint, atomic)\n"                                                          \
  "IX_ATOMICS_OF_FLOATS(__global, float, int, atomic)\n"                                                      \
  "IX_ATOMICS_OF_INTEGERS(__local, int, atomic)\n"                                                            \
  "IX_ATOMICS_OF_INTEGERS(__local, uint, atomic)\n"                                                           \
  "IX_ATOMICS_OF_FLOATS(__local, float, int, atomic)\n"                                                       \
  "#if defined(cl_khr_int64_base_atomics) && defined(cl_khr_int64_extended_atomics)\n"                        \
  "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"                                             \
  "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n"                                         \
  "IX_ATOMICS_OF_INTEGERS(__global, long, atom)\n"                                                            \
  "IX_ATOMICS_OF_INTEGERS(__global, ulong, atom)\n"                                                           \
  "IX_ATOMICS_OF_INTEGERS(__local, long, atom)\n"                                                             \
  "IX_ATOMICS_OF_INTEGERS(__local, ulong, atom)\n"                                                            \
  "#ifdef cl_khr_fp64\n"                                                                                      \
  "IX_ATOMICS_OF_FLOATS(__global, double, long, atom)\n"                                                      \
  "IX_ATOMICS_OF_FLOATS(__local, double, long, atom)\n"                                                       \
  "#endif\n"                                                                                                  \
  "#endif\n"                                                                                                  \
  "#define IX_GROUP_VALUE(type, name) __local type ix_scratch_##name[1024]; type name\n"                      \
  "#define IX_SMALLER(a, b) ((b) < (a) ? (b) : (a))\n"                                                        \
  "#define IX_LARGER(a, b) ((a) < (b) ? (b) : (a))\n"                                                         \
  "#define IX_ADDED(a, b) ((a) + (b))\n"                                                                      \
  "#define IX_BARRIER barrier(CLK_LOCAL_MEM_FENCE)\n"                                                         \
  "#define IX_ITEM_OF_GROUP \\\n"                                                                             \
  "  (int)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0))\n"  \
  "#define IX_ITEMS_OF_GROUP (int)(get_local_size(0) * get_local_size(1) * get_local_size(2))\n"              \
  "#define IX_GROUP_COMBINED(name, mine, both) do { \\\n"                                                     \
  "    const int ix_i = IX_ITEM_OF_GROUP, ix_n = IX_ITEMS_OF_GROUP; \\\n"                                     \
  "    ix_scratch_##name[ix_i] = mine; \\\n"                                                                  \
  "    IX_BARRIER; \\\n"                                                                                      \
  "    for (int ix_s = 1; ix_s < ix_n; ix_s *= 2) { \\\n"                                                     \
  "      if (ix_i % (2 * ix_s) == 0 && ix_i + ix_s < ix_n) \\\n"                                              \
  "        ix_scratch_##name[ix_i] = both(ix_scratch_##name[ix_i], ix_scratch_##name[ix_i + ix_s]); \\\n"     \
  "      IX_BARRIER; \\\n"                                                                                    \
  "    } \\\n"                                                                                                \
  "    name = ix_scratch_##name[0]; \\\n"                                                                     \
  "    IX_BARRIER; \\\n"                                                                                      \
  "  } while (0)\n"                                                                                           \
  "#define IX_GROUP_SUM(name, mine) IX_GROUP_COMBINED(name, mine, IX_ADDED)\n"                                \
  "#define IX_GROUP_MIN(name, mine) IX_GROUP_COMBINED(name, mine, IX_SMALLER)\n"                              \
  "#define IX_GROUP_MAX(name, mine) IX_GROUP_COMBINED(name, mine, IX_LARGER)\n"                               \
  "#define IX_GROUP_SCAN(name, mine) do { \\\n"                                                               \
  "    const int ix_i = IX_ITEM_OF_GROUP, ix_n = IX_ITEMS_OF_GROUP; \\\n"                                     \
  "    ix_scratch_##name[ix_i] = mine; \\\n"                                                                  \
  "    IX_BARRIER; \\\n"                                                                                      \
  "    for (int ix_s = 1; ix_s < ix_n; ix_s *= 2) { \\\n"                                                     \
  "      name = ix_i >= ix_s ? ix_scratch_##name[ix_i - ix_s] : 0; \\\n"                                      \
  "      IX_BARRIER; \\\n"                                                                                    \
  "      ix_scratch_##name[ix_i] += name; \\\n"                                                               \
  "      IX_BARRIER; \\\n"                                                                                    \
  "    } \\\n"                                                                                                \
  "    name = ix_scratch_##name[ix_n - 1]; \\\n"                                                              \
  "    mine = ix_scratch_##name[ix_i] - mine; \\\n"                                                           \
  "    IX_BARRIER; \\\n"                                                                                      \
  "  } while (0)\n"                                                                                           \
  "#define IX_HALF half\n"                                                                                    \
  "#define IX_LOAD_HALF(p) vload_half(0, p)\n"                                                                \
  "#define IX_STORE_HALF(p, value) vstore_half_rte(value, 0, p)\n"                                            \
  "#define IX_DOUBLE2 double2\n"                                                                              \
  "#define IX_MAKE_DOUBLE2(a, b) ((double2)(a, b))\n"                                                         \
  "#define IX_LOAD_DOUBLE2(p) (*(__global const double2*)(p))\n"                                              \
  "#define IX_STORE_DOUBLE2(p, v) (*(__global double2*)(p) = (v))\n"                                          \
  "#define IX_FLOAT2 float2\n"                                                                                \
  "#define IX_MAKE_FLOAT2(a, b) ((float2)(a, b))\n"                                                           \
  "#define IX_LOAD_FLOAT2(p) (*(__global const float2*)(p))\n"                                                \
  "#define IX_STORE_FLOAT2(p, v) (*(__global float2*)(p) = (v))\n"                                            \
  "#define IX_FLOAT4 float4\n"                                                                                \
  "#define IX_MAKE_FLOAT4(a, b, c, d) ((float4)(a, b, c, d))\n"                                               \
  "#define IX_LOAD_FLOAT4(p) (*(__global const float4*)(p))\n"                                                \
  "#define IX_STORE_FLOAT4(p, v) (*(__global float4*)(p) = (v))\n"                                            \
  "#define IX_INT2 int2\n"                                                                                    \
  "#define IX_MAKE_INT2(a, b) ((int2)(a, b))\n"                                                               \
  "#define IX_LOAD_INT2(p) (*(__global const int2*)(p))\n"                                                    \
  "#define IX_STORE_INT2(p, v) (*(__global int2*)(p) = (v))\n"                                                \
  "#define IX_INT4 int4\n"                                                                                    \
  "#define IX_MAKE_INT4(a, b, c, d) ((int4)(a, b, c, d))\n"                                                   \
  "#define IX_LOAD_INT4(p) (*(__global const int4*)(p))\n"                                                    \
  "#define IX_STORE_INT4(p, v) (*(__global int4*)(p) = (v))\n"
