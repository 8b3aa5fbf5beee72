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

template <bool wants_sums>
__global__ void __launch_bounds__(threads)
    go_kernel(gpu_bricks b, gpu_step step, gpu_lists lists, const vector4* __restrict__ x, vector4* __restrict__ next_x,
              vector4* __restrict__ v, double* sums) {
  extern __shared__ double staged_positions[];
  double* const sx = staged_positions;
  double* const sy = sx + lists.stage_capacity;
  double* const sz = sy + lists.stage_capacity;
  const std::uint32_t brick = blockIdx.x;
  const gpu_staged* const stage = lists.staged + std::size_t{brick} * lists.stage_capacity;
  const unsigned num = lists.num_staged[brick];
  gpu::stage_positions(b, stage, num, x, sx, sy, sz);
  __syncthreads();

  const std::uint32_t begin = lists.first[brick], end = lists.first[brick + 1], in_brick = end - begin;
  const double strength = 48.0 * step.epsilon;
  double kinetic = 0, energy = 0, virial = 0;
  for (std::uint32_t i = begin + threadIdx.x; i < end; i += threads) {
    const vector4 p = x[i];
    const std::uint16_t* entry = lists.entries + std::size_t{begin} * lists.rows + (i - begin);
    double fx = 0, fy = 0, fz = 0;
    const unsigned neighbours = lists.num_neighbours[i];
#pragma unroll 4
    for (unsigned k = 0; k < neighbours; ++k, entry += in_brick) {
      const unsigned j = *entry;
      const double dx = p.x - sx[j], dy = p.y - sy[j], dz = p.z - sz[j];
      const double square = fma(dz, dz, fma(dy, dy, dx * dx));
      if (square < step.cutoff_square) {
        const double s2 = inverse(square), s6 = s2 * s2 * s2 * step.sigma6;
        const double force = strength * s6 * (s6 - 0.5) * s2;
        fx = fma(dx, force, fx);
        fy = fma(dy, force, fy);
        fz = fma(dz, force, fz);
        if constexpr (wants_sums) {
          energy = fma(2.0 * step.epsilon * s6, s6 - 1.0, energy);
          virial = fma(0.5 * square, force, virial);
        }
      }
    }
    gpu::integrate<wants_sums>(step, i, p, {fx, fy, fz, 0}, next_x, v, kinetic);
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

template <bool wants_sums>
void go(imbrex::stream& s, const gpu_bricks& b, const gpu_step& step, const gpu_lists& lists, const vector4* x,
        vector4* next_x, vector4* v, double* sums) {
  const std::size_t shared = gpu_step_shared(lists);
  if (shared > 48 * 1024)
    cudaFuncSetAttribute(go_kernel<wants_sums>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  imbrex::launch(s, wants_sums ? "step and sums" : "step", go_kernel<wants_sums>,
                 dim3(static_cast<unsigned>(b.count())), dim3(threads), shared, b, step, lists, x, next_x, v, sums);
}

}  // namespace

std::size_t gpu_step_shared(const gpu_lists& lists, bool embedded) {
  return std::size_t{embedded ? 4u : 3u} * lists.stage_capacity * sizeof(double);
}

void gpu_go(imbrex::stream& s, const gpu_bricks& b, const gpu_step& step, const gpu_lists& lists, const vector4* x,
            vector4* next_x, vector4* v, double* sums) {
  sums != nullptr ? go<true>(s, b, step, lists, x, next_x, v, sums) : go<false>(s, b, step, lists, x, next_x, v, sums);
}

void gpu_add_sums(imbrex::stream& s, std::int64_t bricks, const double* sums, double* total) {
  imbrex::launch(s, "add sums", add_kernel, dim3(1), dim3(threads), 0, bricks, sums, total);
}

}  // namespace md
