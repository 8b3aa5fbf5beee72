#include "imbrex/device/cuda/cuda_launch.h"
#include "kernels/gpu_bricks.cuh"

namespace md {
namespace {

using gpu::threads;

/// 1 / x to the last bit or so, for x that is neither huge nor tiny: half of what a division takes.
__device__ __forceinline__ double inverse(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  double e = fma(-x, y, 1.0);
  y = fma(y, e, y);
  e = fma(-x, y, 1.0);
  return fma(y, e, y);
}
__device__ __forceinline__ float inverse(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return fma(y, fma(-x, y, 1.0f), y);
}

/// A block's shared memory: positions, and with half lists forces inside the brick.
template <class Real>
struct shared_arrays {
  Real *x, *y, *z;
  double* force;

  __device__ shared_arrays(double* all, const gpu_lists& lists)
      : x(reinterpret_cast<Real*>(all)),
        y(x + lists.stage_capacity),
        z(y + lists.stage_capacity),
        force(reinterpret_cast<double*>(z + lists.stage_capacity)) {}
};

template <class Real>
struct pair_sums {
  Real fx = 0, fy = 0, fz = 0;
  double energy = 0, virial = 0;
};

/// The forces of an atom's pairs. With half lists what it does to those of its own brick goes there.
template <class Real, bool wants_sums, bool half>
__device__ __forceinline__ pair_sums<Real> add_pairs(const gpu_step& step, const gpu_lists& lists,
                                                     const shared_arrays<Real>& s, Real px, Real py, Real pz,
                                                     const std::uint16_t* entry, unsigned neighbours, unsigned in_brick,
                                                     unsigned own_staged) {
  const Real cutoff_square = static_cast<Real>(step.cutoff_square), sigma6 = static_cast<Real>(step.sigma6),
             strength = static_cast<Real>(48.0 * step.epsilon), half_of = static_cast<Real>(0.5);
  pair_sums<Real> sum;
#pragma unroll 4
  for (unsigned k = 0; k < neighbours; ++k, entry += in_brick) {
    const unsigned j = *entry;
    const Real dx = px - s.x[j], dy = py - s.y[j], dz = pz - s.z[j];
    const Real square = fma(dz, dz, fma(dy, dy, dx * dx));
    if (square < cutoff_square) {
      const Real s2 = inverse(square), s6 = s2 * s2 * s2 * sigma6;
      const Real force = strength * s6 * (s6 - half_of) * s2;
      sum.fx = fma(dx, force, sum.fx);
      sum.fy = fma(dy, force, sum.fy);
      sum.fz = fma(dz, force, sum.fz);
      double weight = 1.0;
      if constexpr (half) {
        const unsigned other = j - own_staged;
        if (other < in_brick) {
          weight = 2.0;
          atomicAdd(s.force + 3 * other, -static_cast<double>(dx * force));
          atomicAdd(s.force + 3 * other + 1, -static_cast<double>(dy * force));
          atomicAdd(s.force + 3 * other + 2, -static_cast<double>(dz * force));
        }
      }
      if constexpr (wants_sums) {
        const double s6d = s6;
        sum.energy = fma(2.0 * weight * step.epsilon * s6d, s6d - 1.0, sum.energy);
        sum.virial = fma(0.5 * weight * square, static_cast<double>(force), sum.virial);
      }
    }
  }
  return sum;
}

template <class Real, bool wants_sums, bool half>
__global__ void __launch_bounds__(threads)
    go_kernel(gpu_bricks b, gpu_brick_range which, gpu_step step, gpu_lists lists, const vector4* __restrict__ x,
              vector4* __restrict__ next_x, vector4* __restrict__ v, double* sums) {
  extern __shared__ double staged_positions[];
  const shared_arrays<Real> s(staged_positions, lists);
  const std::uint32_t brick = which.order != nullptr ? which.order[blockIdx.x] : blockIdx.x;
  const gpu::brick_origin<Real> origin(b, brick);
  gpu::stage_positions(b, origin, lists.staged + std::size_t{brick} * lists.stage_capacity, lists.num_staged[brick], x,
                       s.x, s.y, s.z);
  const std::uint32_t begin = lists.first[brick], end = lists.first[brick + 1], in_brick = end - begin;
  const unsigned own_staged = half ? lists.own_staged[brick] : 0;
  if constexpr (half)
    for (unsigned k = threadIdx.x; k < 3 * in_brick; k += threads) s.force[k] = 0;
  __syncthreads();

  double kinetic = 0, energy = 0, virial = 0;
  for (std::uint32_t i = begin + threadIdx.x; i < end; i += threads) {
    const vector4 p = x[i];
    const auto sum = add_pairs<Real, wants_sums, half>(
        step, lists, s, origin.along_x(p), origin.along_y(p), origin.along_z(p),
        lists.entries + std::size_t{begin} * lists.rows + (i - begin), lists.num_neighbours[i], in_brick, own_staged);
    energy += sum.energy;
    virial += sum.virial;
    if constexpr (half) {
      double* const mine = s.force + 3 * (i - begin);
      atomicAdd(mine, static_cast<double>(sum.fx));
      atomicAdd(mine + 1, static_cast<double>(sum.fy));
      atomicAdd(mine + 2, static_cast<double>(sum.fz));
    } else {
      gpu::integrate<wants_sums>(step, i, p, {sum.fx, sum.fy, sum.fz, 0}, next_x, v, kinetic);
    }
  }
  if constexpr (half) {
    __syncthreads();
    for (std::uint32_t i = begin + threadIdx.x; i < end; i += threads) {
      const double* const mine = s.force + 3 * (i - begin);
      gpu::integrate<wants_sums>(step, i, x[i], {mine[0], mine[1], mine[2], 0}, next_x, v, kinetic);
    }
  }
  if constexpr (wants_sums) gpu::write_sums(sums + std::size_t{3} * brick, kinetic, energy, virial);
}

__global__ void __launch_bounds__(threads) add_kernel(std::int64_t bricks, const double* sums, double* total) {
  __shared__ double per_warp[threads / 32];
  for (int k = 0; k < 3; ++k) {
    double mine = 0;
    for (std::int64_t i = threadIdx.x; i < bricks; i += threads) mine += sums[3 * i + k];
    const double all = gpu::sum_of_block(mine, per_warp);
    if (threadIdx.x == 0) total[k] = all;
  }
}

template <class Real, bool wants_sums, bool half>
void go(imbrex::stream& s, const gpu_bricks& b, const gpu_brick_range& which, const gpu_step& step,
        const gpu_lists& lists, const vector4* x, vector4* next_x, vector4* v, double* sums) {
  const auto kernel = go_kernel<Real, wants_sums, half>;
  const std::size_t shared =
      gpu_step_shared(lists) / sizeof(double) * sizeof(Real) + (half ? gpu_half_shared(lists) : 0);
  if (shared > 48 * 1024)
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  imbrex::launch(s, wants_sums ? "step and sums" : "step", kernel, dim3(which.num), dim3(threads), shared, b, which,
                 step, lists, x, next_x, v, sums);
}

template <class Real, bool half>
void go(imbrex::stream& s, const gpu_bricks& b, const gpu_brick_range& which, const gpu_step& step,
        const gpu_lists& lists, const vector4* x, vector4* next_x, vector4* v, double* sums) {
  sums != nullptr ? go<Real, true, half>(s, b, which, step, lists, x, next_x, v, sums)
                  : go<Real, false, half>(s, b, which, step, lists, x, next_x, v, sums);
}

}  // namespace

std::size_t gpu_step_shared(const gpu_lists& lists, bool embedded) {
  return std::size_t{embedded ? 4u : 3u} * lists.stage_capacity * sizeof(double);
}

std::size_t gpu_half_shared(const gpu_lists& lists) { return std::size_t{3} * lists.most_in_brick * sizeof(double); }

void gpu_go(imbrex::stream& s, const gpu_bricks& b, const gpu_brick_range& which, const gpu_step& step,
            const gpu_lists& lists, const vector4* x, vector4* next_x, vector4* v, double* sums) {
  const auto how = step.single ? (lists.half ? go<float, true> : go<float, false>)
                               : (lists.half ? go<double, true> : go<double, false>);
  how(s, b, which, step, lists, x, next_x, v, sums);
}

void gpu_add_sums(imbrex::stream& s, std::int64_t bricks, const double* sums, double* total) {
  imbrex::launch(s, "add sums", add_kernel, dim3(1), dim3(threads), 0, bricks, sums, total);
}

}  // namespace md
