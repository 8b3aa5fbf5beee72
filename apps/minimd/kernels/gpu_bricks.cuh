#pragma once

#include "kernels/gpu_system.h"

namespace md::gpu {

constexpr int sub_bins = 4;  // in each direction of a brick, for the order of its atoms

__device__ __forceinline__ int clamped(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

/// The brick at `offset` (-1, 0 or 1) from `i` of `n`, and by how many lengths what is there has to be shifted.
__device__ __forceinline__ int wrapped(int i, int offset, int n, int& shift) {
  const int j = i + offset;
  shift = j < 0 ? -1 : j >= n ? 1 : 0;
  return j - shift * n;
}

__device__ __forceinline__ void add_image(vector4& p, unsigned image, const gpu_bricks& b) {
  p.x += (static_cast<int>(image % 3) - 1) * b.length[0];
  p.y += (static_cast<int>(image / 3 % 3) - 1) * b.length[1];
  p.z += (static_cast<int>(image / 9) - 1) * b.length[2];
}

constexpr unsigned own_image = 13;
constexpr gpu_staged index_mask = (gpu_staged{1} << gpu_index_bits) - 1;

constexpr unsigned threads = gpu_brick_threads;

/// -1, 0 or 1: before the box, in it, or behind it; 0 where it is not cut from the whole.
__device__ __forceinline__ int region(const gpu_bricks& b, int d, double x) {
  return !b.cut[d] ? 0 : x < b.lo[d] ? -1 : x >= b.hi[d] ? 1 : 0;
}

/// How many threads of the block before this one say yes, and how many do in all; `per_warp` is shared.
__device__ inline unsigned rank_of(bool yes, unsigned* per_warp, unsigned& all) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, votes = __ballot_sync(0xffffffffu, yes);
  if (lane == 0) per_warp[warp] = __popc(votes);
  __syncthreads();
  unsigned before = 0;
  all = 0;
  for (unsigned w = 0; w < threads / 32; ++w) {
    before += w < warp ? per_warp[w] : 0;
    all += per_warp[w];
  }
  __syncthreads();
  return before + __popc(votes & ((1u << lane) - 1));
}

/// Of a block's threads, in each of them; `per_warp` is shared.
__device__ inline double sum_of_block(double value, double* per_warp) {
  for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(0xffffffffu, value, d);
  if (threadIdx.x % 32 == 0) per_warp[threadIdx.x / 32] = value;
  __syncthreads();
  double all = 0;
  for (unsigned w = 0; w < threads / 32; ++w) all += per_warp[w];
  __syncthreads();
  return all;
}

/// Where a block's positions are counted from: from nothing with doubles, with floats from the middle of its brick.
template <class Real>
struct brick_origin {
  double x = 0, y = 0, z = 0;

  __device__ brick_origin(const gpu_bricks& b, std::uint32_t brick) {
    if constexpr (sizeof(Real) == sizeof(float)) {
      x = b.lo[0] + (brick % b.num[0] + 0.5) * b.side[0];
      y = b.lo[1] + (brick / b.num[0] % b.num[1] + 0.5) * b.side[1];
      z = b.lo[2] + (brick / b.num[0] / b.num[1] + 0.5) * b.side[2];
    }
  }
  __device__ __forceinline__ Real along_x(const vector4& p) const { return from(p.x, x); }
  __device__ __forceinline__ Real along_y(const vector4& p) const { return from(p.y, y); }
  __device__ __forceinline__ Real along_z(const vector4& p) const { return from(p.z, z); }

 private:
  static __device__ __forceinline__ Real from(double at, double origin) {
    if constexpr (sizeof(Real) == sizeof(float)) return static_cast<Real>(at - origin);
    return at;
  }
};

/// Copies positions, images put in place, into shared memory; synchronise afterwards.
template <class Real>
__device__ __forceinline__ void stage_positions(const gpu_bricks& b, const brick_origin<Real>& origin,
                                                const gpu_staged* stage, unsigned num, const vector4* __restrict__ x,
                                                Real* sx, Real* sy, Real* sz) {
  for (unsigned k = threadIdx.x; k < num; k += threads) {
    const gpu_staged one = stage[k];
    vector4 p = x[one & index_mask];
    if (one >> gpu_index_bits != own_image) add_image(p, one >> gpu_index_bits, b);
    sx[k] = origin.along_x(p);
    sy[k] = origin.along_y(p);
    sz[k] = origin.along_z(p);
  }
}

/// The second half of the step that led here, and the first of the next.
template <bool wants_sums>
__device__ __forceinline__ void integrate(const gpu_step& step, std::uint32_t i, const vector4& p, const vector4& f,
                                          vector4* __restrict__ next_x, vector4* __restrict__ v, double& kinetic) {
  vector4 u = v[i];
  if (step.finishes) {
    u.x += step.half_kick * f.x;
    u.y += step.half_kick * f.y;
    u.z += step.half_kick * f.z;
  }
  if constexpr (wants_sums) kinetic += (u.x * u.x + u.y * u.y + u.z * u.z) * step.mass;
  if (step.advances) {
    u.x += step.half_kick * f.x;
    u.y += step.half_kick * f.y;
    u.z += step.half_kick * f.z;
    next_x[i] = {p.x + step.dt * u.x, p.y + step.dt * u.y, p.z + step.dt * u.z, 0};
  }
  v[i] = u;
}

/// By all threads of a block.
__device__ inline void write_sums(double* sums, double kinetic, double energy, double virial) {
  __shared__ double per_warp[threads / 32];
  const double all[3] = {sum_of_block(kinetic, per_warp), sum_of_block(energy, per_warp), sum_of_block(virial, per_warp)};
  if (threadIdx.x < 3) sums[threadIdx.x] = all[threadIdx.x];
}

}  // namespace md::gpu
