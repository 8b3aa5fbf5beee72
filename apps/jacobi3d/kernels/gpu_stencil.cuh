#pragma once

#include <cstdint>

#include "kernels/gpu_layout.h"
#include "kernels/gpu_tiles.h"
#include "field/stencil.h"

/// Device code that all update kernels share. A warp takes 32 pairs of neighbouring cells of one row and marches
/// through the planes, keeping three planes' values of its cells in registers.
namespace jacobi::gpu {

/// How a kernel is cut: thread blocks of gpu_tiling's columns and rows of threads; planes whose loads come first;
/// `gpu_cut::beyond_cache`; and the threads that a multiprocessor shall hold, which bounds the registers. Said so, the
/// compiler uses these registers to have many loads in flight; left alone it saves them.
template <int planes_, bool beyond_cache_, int threads_per_multiprocessor>
struct march_shape {
  static constexpr int columns = gpu_tiling::cells / 2, rows = gpu_tiling::rows, planes = planes_;
  static constexpr bool beyond_cache = beyond_cache_;
  static constexpr int threads = columns * rows;
  static constexpr int resident = threads_per_multiprocessor / threads;  ///< thread blocks
};
using near_cache = march_shape<2, false, 1024>;
using beyond_cache = march_shape<2, true, 1024>;

/// A block's two fields, seen from cell (0, 0, 0).
struct field_view {
  const double* in = nullptr;
  double* out = nullptr;
  std::int64_t pitch = 0, plane = 0;
  gpu_ends ends;
};

inline field_view view(const gpu_layout& layout, const double* in, double* out, gpu_ends ends = {}) {
  return {in + layout.origin, out + layout.origin, layout.pitch, layout.plane, ends};
}

/// One cell's new value: the operations of kernel.h in their order, never contracted.
template <bool weighted>
__device__ __forceinline__ double updated(stencil f, double c, double xm, double xp, double ym, double yp, double zm,
                                          double zp) {
  if constexpr (weighted) {
    const double y = __dadd_rn(__dadd_rn(__dadd_rn(xm, xp), ym), yp);
    return __dadd_rn(__dmul_rn(f.alpha, c), __dmul_rn(f.beta, __dadd_rn(__dadd_rn(y, zm), zp)));
  } else {
    const double y = __dadd_rn(__dadd_rn(__dadd_rn(__dadd_rn(c, xm), xp), ym), yp);
    return __dmul_rn(__dadd_rn(__dadd_rn(y, zm), zp), 1.0 / 7.0);
  }
}

/// The two cells (x, y) and (x + 1, y) of each plane that a thread takes; x is even.
struct cell_pair {
  int x = 0, y = 0;
  bool lo = false, hi = false;       ///< whether the first and the second are to be updated
  bool first = false, last = false;  ///< whether they lie next to the block's ends in x
};

/// This thread's pair in a tile that starts at (first_x, first_y) of the cells x0 <= x < x1 of a block of nx; first_x
/// is even. False if the thread has nothing to do.
__device__ __forceinline__ bool place(cell_pair& p, int first_x, int first_y, int x0, int x1, int y1, int nx) {
  p.x = first_x + 2 * static_cast<int>(threadIdx.x);
  p.y = first_y + static_cast<int>(threadIdx.y);
  if (p.y >= y1 || p.x >= x1) return false;
  p.lo = p.x >= x0 && p.x < x1;
  p.hi = p.x + 1 >= x0 && p.x + 1 < x1;
  p.first = p.x == 0;
  p.last = p.x + 2 >= nx;
  return true;
}

__device__ __forceinline__ double2 load_pair(const double* at) { return __ldg(reinterpret_cast<const double2*>(at)); }

/// Loads and stores of a march. Beyond the cache, what is read for the first time is to stay in the L2 cache, since the
/// tiles beside and above read it, too, and what is written is to leave it first (2.5 % at 768^3).
template <bool beyond_cache>
class cached {
 public:
  __device__ __forceinline__ cached() {
    if constexpr (beyond_cache) {
      asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep_));
      asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(let_go_));
    }
  }
  __device__ __forceinline__ double2 load(const double* at) const {
    if constexpr (beyond_cache) {
      double2 v;
      asm("ld.global.nc.L2::cache_hint.v2.f64 {%0, %1}, [%2], %3;" : "=d"(v.x), "=d"(v.y) : "l"(at), "l"(keep_));
      return v;
    } else {
      return load_pair(at);
    }
  }
  __device__ __forceinline__ void store(double* at, double2 v) const {
    if constexpr (beyond_cache) {
      asm volatile("st.global.L2::cache_hint.v2.f64 [%0], {%1, %2}, %3;" ::"l"(at), "d"(v.x), "d"(v.y), "l"(let_go_)
                   : "memory");
    } else {
      *reinterpret_cast<double2*>(at) = v;
    }
  }

 private:
  unsigned long long keep_ = 0, let_go_ = 0;
};

__device__ __forceinline__ void store_pair(double* at, double2 value, const cell_pair& p) {
  if (p.lo && p.hi) *reinterpret_cast<double2*>(at) = value;
  if (p.lo && !p.hi) at[0] = value.x;
  if (p.hi && !p.lo) at[1] = value.y;
}

template <int planes, class Cached>
__device__ __forceinline__ void store_pairs(double* at, std::int64_t plane, const double2 (&values)[planes],
                                            const cell_pair& p, const Cached& memory) {
  if (p.lo && p.hi) {
#pragma unroll
    for (int k = 0; k < planes; ++k, at += plane) memory.store(at, values[k]);
  } else {
#pragma unroll
    for (int k = 0; k < planes; ++k, at += plane) at[p.lo ? 0 : 1] = p.lo ? values[k].x : values[k].y;
  }
}

/// What the updates of a pair in the next planes need beside what the thread holds already.
template <int planes>
struct incoming {
  double2 above[planes], south[planes], north[planes];
  double west[planes], east[planes];

  template <class Cached>
  __device__ __forceinline__ void load(const double* centre, const field_view& f, const cell_pair& p,
                                       const Cached& memory) {
    // West and east come from the first-level cache, too: shuffling them in would make every plane wait for its loads.
#pragma unroll
    for (int k = 0; k < planes; ++k, centre += f.plane) {
      above[k] = memory.load(centre + f.plane);
      south[k] = load_pair(centre - f.pitch);
      north[k] = load_pair(centre + f.pitch);
      west[k] = east[k] = f.ends.value;
      if (!(p.first && f.ends.fixed)) west[k] = __ldg(centre - 1);
      if (!(p.last && f.ends.fixed)) east[k] = __ldg(centre + 2);
    }
  }
};

/// A thread's march through the planes.
template <bool weighted, class Cached, class Sink>
struct column {
  const field_view& f;
  const stencil formula;
  const cell_pair& p;
  const Cached& memory;
  const Sink& sink;
  double* result;       ///< the pair in plane z
  int z;                ///< the next plane to update
  double2 below, here;  ///< the pair in planes z - 1 and z

  /// Updates the next planes; first all values, so that their additions overlap, then the stores. The sink sees every
  /// pair's new values.
  template <int planes>
  __device__ __forceinline__ void advance(const incoming<planes>& next) {
    double2 values[planes];
#pragma unroll
    for (int k = 0; k < planes; ++k) {
      values[k].x = updated<weighted>(formula, here.x, next.west[k], here.y, next.south[k].x, next.north[k].x, below.x,
                                      next.above[k].x);
      values[k].y = updated<weighted>(formula, here.y, here.x, next.east[k], next.south[k].y, next.north[k].y, below.y,
                                      next.above[k].y);
      below = here;
      here = next.above[k];
    }
    store_pairs<planes>(result, f.plane, values, p, memory);
#pragma unroll
    for (int k = 0; k < planes; ++k) sink(p, z + k, values[k]);
    result += planes * f.plane;
    z += planes;
  }
};

/// Updates the pair in planes z0 <= z < z1, `Shape::planes` at a time, whose loads come first.
template <class Shape, bool weighted, class Sink>
__device__ __forceinline__ void march(const field_view& f, stencil formula, const cell_pair& p, int z0, int z1,
                                      const Sink& sink) {
  constexpr int planes = Shape::planes;
  const std::int64_t first = z0 * f.plane + p.y * f.pitch + p.x;
  const double* centre = f.in + first;
  const cached<Shape::beyond_cache> memory;
  column<weighted, cached<Shape::beyond_cache>, Sink> c{
      f, formula, p, memory, sink, f.out + first, z0, load_pair(centre - f.plane), load_pair(centre)};
#pragma unroll 1
  for (; c.z + planes <= z1; centre += planes * f.plane) {
    incoming<planes> now;
    now.load(centre, f, p, memory);
    c.advance(now);
  }
#pragma unroll 1
  for (; c.z < z1; centre += f.plane) {
    incoming<1> now;
    now.load(centre, f, p, memory);
    c.advance(now);
  }
}

struct no_sink {
  __device__ __forceinline__ void operator()(const cell_pair&, int, double2) const {}
};

}  // namespace jacobi::gpu
