#pragma once

#include "imbrex/device/kernel/half.h"

#if defined(__CUDACC__)

/// What kernels of the dialect need in CUDA beyond its own words. For nvcc.
namespace imbrex::detail {

template <class T, class U>
inline constexpr bool same_type = false;
template <class T>
inline constexpr bool same_type<T, T> = true;
template <class T>
struct given_type {
  using type = T;
};
/// Of an argument that does not say what the type is.
template <class T>
using given = typename given_type<T>::type;

template <class T>
inline constexpr bool is_floating = same_type<T, float> || same_type<T, double>;
/// CUDA's atomics are for `long long`; the dialect's `long` has 64 bits, too.
using cuda_word = unsigned long long;
template <class T>
struct cuda_number {
  using ordered = T;  ///< for what compares
  using bits = T;     ///< for what does not
};
template <>
struct cuda_number<long> {
  using ordered = long long;
  using bits = cuda_word;
};
template <>
struct cuda_number<unsigned long> {
  using ordered = cuda_word;
  using bits = cuda_word;
};
template <>
struct cuda_number<long long> {
  using ordered = long long;
  using bits = cuda_word;
};
template <class N, class T>
__device__ N* as_cuda(T* p) {
  return reinterpret_cast<N*>(p);
}

__device__ inline cuda_word bits_of(double v) { return static_cast<cuda_word>(__double_as_longlong(v)); }
__device__ inline unsigned bits_of(float v) { return __float_as_uint(v); }
__device__ inline double number_of(cuda_word bits) { return __longlong_as_double(static_cast<long long>(bits)); }
__device__ inline float number_of(unsigned bits) { return __uint_as_float(bits); }

/// Of a `float` or `double`.
template <class T, class Change>
__device__ T atomic_change(T* p, Change changed) {
  using bits = decltype(bits_of(T{}));
  bits old = *const_cast<volatile bits*>(as_cuda<bits>(p));
  for (;;) {
    const bits seen = atomicCAS(as_cuda<bits>(p), old, bits_of(changed(number_of(old))));
    if (seen == old) return number_of(old);
    old = seen;
  }
}

template <class T>
__device__ T atomic_add(T* p, given<T> v) {
  using number = typename cuda_number<T>::bits;
  return static_cast<T>(atomicAdd(as_cuda<number>(p), static_cast<number>(v)));
}
template <class T>
__device__ T atomic_min(T* p, given<T> v) {
  if constexpr (is_floating<T>) {
    return atomic_change(p, [v](T old) { return v < old ? v : old; });
  } else {
    using number = typename cuda_number<T>::ordered;
    return static_cast<T>(atomicMin(as_cuda<number>(p), static_cast<number>(v)));
  }
}
template <class T>
__device__ T atomic_max(T* p, given<T> v) {
  if constexpr (is_floating<T>) {
    return atomic_change(p, [v](T old) { return old < v ? v : old; });
  } else {
    using number = typename cuda_number<T>::ordered;
    return static_cast<T>(atomicMax(as_cuda<number>(p), static_cast<number>(v)));
  }
}
template <class T>
__device__ T atomic_swap(T* p, given<T> v) {
  if constexpr (is_floating<T>) {
    return number_of(atomicExch(as_cuda<decltype(bits_of(T{}))>(p), bits_of(v)));
  } else {
    using number = typename cuda_number<T>::bits;
    return static_cast<T>(atomicExch(as_cuda<number>(p), static_cast<number>(v)));
  }
}
template <class T>
__device__ T atomic_cas(T* p, given<T> expected, given<T> v) {
  static_assert(!is_floating<T>, "IX_ATOMIC_CAS is for integers");
  using number = typename cuda_number<T>::bits;
  return static_cast<T>(atomicCAS(as_cuda<number>(p), static_cast<number>(expected), static_cast<number>(v)));
}

// Without cuda_fp16.h, which every kernel file would have to read.
__device__ inline float load_half(const half* p) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(p->bits));
  return value;
}
__device__ inline void store_half(half* p, float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  p->bits = bits;
}

template <class T>
__device__ T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
__device__ T larger(T a, T b) {
  return a < b ? b : a;
}

inline constexpr int warp_items = 32;
/// Of a group: a value of each warp, and what came out.
inline constexpr int group_scratch = warp_items + 1;

__device__ inline int item_of_group() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
__device__ inline int items_of_group() { return blockDim.x * blockDim.y * blockDim.z; }
/// Of the first `n` items of a warp.
__device__ inline unsigned lanes_below(int n) { return n >= warp_items ? ~0U : (1U << n) - 1U; }

/// Combines the values of the first `n` lanes in lane 0, neighbours first. All lanes of the warp that exist call it.
template <class T, class Combine>
__device__ T combined_in_warp(T value, int lane, int n, unsigned lanes, Combine both) {
  for (int step = 1; step < warp_items; step *= 2) {
    const T other = __shfl_down_sync(lanes, value, step);
    if (lane % (2 * step) == 0 && lane + step < n) value = both(value, other);
  }
  return value;
}

/// The same of all items of the group, for each of them. Between the barrier in it and the next use of `scratch` there
/// is another.
template <class T, class Combine>
__device__ T combined(T* scratch, T mine, Combine both) {
  const int item = item_of_group();
  const int warp = item / warp_items;
  const int lane = item % warp_items;
  const int num_warps = (items_of_group() + warp_items - 1) / warp_items;
  const int in_warp = min(items_of_group() - warp * warp_items, warp_items);
  const unsigned lanes = lanes_below(in_warp);
  mine = combined_in_warp(mine, lane, in_warp, lanes, both);
  if (lane == 0) scratch[warp] = mine;
  __syncthreads();
  if (warp == 0) {
    T value = lane < num_warps ? scratch[lane] : mine;
    value = combined_in_warp(value, lane, num_warps, lanes, both);
    if (lane == 0) scratch[warp_items] = value;
  }
  __syncthreads();
  return scratch[warp_items];
}
template <class T>
__device__ T group_sum(T* scratch, T mine) {
  return combined(scratch, mine, [](T a, T b) { return static_cast<T>(a + b); });
}
template <class T>
__device__ T group_min(T* scratch, T mine) {
  return combined(scratch, mine, [](T a, T b) { return smaller(a, b); });
}
template <class T>
__device__ T group_max(T* scratch, T mine) {
  return combined(scratch, mine, [](T a, T b) { return larger(a, b); });
}

template <class T>
__device__ T summed_up_to(T value, int lane, unsigned lanes) {
  for (int step = 1; step < warp_items; step *= 2) {
    const T other = __shfl_up_sync(lanes, value, step);
    if (lane >= step) value = static_cast<T>(value + other);
  }
  return value;
}
template <class T>
__device__ T group_scan(T* scratch, T& mine) {
  static_assert(!is_floating<T>, "IX_GROUP_SCAN is for integers");
  const int item = item_of_group();
  const int warp = item / warp_items;
  const int lane = item % warp_items;
  const int num_warps = (items_of_group() + warp_items - 1) / warp_items;
  const int in_warp = min(items_of_group() - warp * warp_items, warp_items);
  const unsigned lanes = lanes_below(in_warp);
  const T up_to_me = summed_up_to(mine, lane, lanes);
  if (lane == in_warp - 1) scratch[warp] = up_to_me;
  __syncthreads();
  if (warp == 0) {
    const T sums = summed_up_to(lane < num_warps ? scratch[lane] : T{}, lane, lanes);
    if (lane < num_warps) scratch[lane] = sums;
    if (lane == num_warps - 1) scratch[warp_items] = sums;
  }
  __syncthreads();
  const T total = scratch[warp_items];
  const T before = warp == 0 ? T{} : scratch[warp - 1];
  __syncthreads();
  mine = static_cast<T>(before + (up_to_me - mine));
  return total;
}

}  // namespace imbrex::detail

#endif
