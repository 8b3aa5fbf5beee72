#include "imbrex/device/cuda/cuda_launch.h"
#include "kernels/gpu_bricks.cuh"

namespace md {
namespace {

using gpu::threads;

struct place {
  int m;
  double p;
};
__device__ __forceinline__ place place_in(const gpu_spline& s, double x) {
  const double t = x * s.per_step + 1.0;
  const int m = min(max(static_cast<int>(t), 1), s.last);
  return {m, fmin(t - m, 1.0)};
}
__device__ __forceinline__ double value(const gpu_spline& s, const place& w) {
  const double* const c = s.cubics[w.m].v;
  return fma(fma(fma(c[3], w.p, c[2]), w.p, c[1]), w.p, c[0]);
}
__device__ __forceinline__ double slope(const gpu_spline& s, const place& w) {
  const double* const c = s.cubics[w.m].d;
  return fma(fma(c[2], w.p, c[1]), w.p, c[0]);
}

/// Where a brick's atoms and lists are.
struct brick_of_block {
  __device__ explicit brick_of_block(const gpu_lists& lists)
      : begin(lists.first[blockIdx.x]),
        end(lists.first[blockIdx.x + 1]),
        num_staged(lists.num_staged[blockIdx.x]),
        stage(lists.staged + std::size_t{blockIdx.x} * lists.stage_capacity),
        entries(lists.entries + std::size_t{begin} * lists.rows) {}
  std::uint32_t begin, end, num_staged;
  const gpu_staged* stage;
  const std::uint16_t* entries;
};

__global__ void __launch_bounds__(threads)
    embed_kernel(gpu_bricks b, gpu_embedded metal, gpu_lists lists, const vector4* __restrict__ x) {
  extern __shared__ double staged_positions[];
  double* const sx = staged_positions;
  double* const sy = sx + lists.stage_capacity;
  double* const sz = sy + lists.stage_capacity;
  const brick_of_block my(lists);
  gpu::stage_positions(b, gpu::brick_origin<double>(b, blockIdx.x), my.stage, my.num_staged, x, sx, sy, sz);
  __syncthreads();
  for (std::uint32_t i = my.begin + threadIdx.x; i < my.end; i += threads) {
    const vector4 p = x[i];
    const std::uint16_t* entry = my.entries + (i - my.begin);
    double sum = 0;
    for (unsigned k = lists.num_neighbours[i]; k > 0; --k, entry += my.end - my.begin) {
      const unsigned j = *entry;
      const double dx = p.x - sx[j], dy = p.y - sy[j], dz = p.z - sz[j];
      const double square = fma(dz, dz, fma(dy, dy, dx * dx));
      if (square < metal.cutoff_square) sum += value(metal.density, place_in(metal.density, sqrt(square)));
    }
    const place at = place_in(metal.embedding, sum);
    metal.slope[i] = slope(metal.embedding, at);
    metal.energy[i] = value(metal.embedding, at);
  }
}

template <bool wants_sums>
__global__ void __launch_bounds__(threads)
    go_embedded_kernel(gpu_bricks b, gpu_step step, gpu_embedded metal, gpu_lists lists, const vector4* __restrict__ x,
                       vector4* __restrict__ next_x, vector4* __restrict__ v, double* sums) {
  extern __shared__ double staged_positions[];
  double* const sx = staged_positions;
  double* const sy = sx + lists.stage_capacity;
  double* const sz = sy + lists.stage_capacity;
  double* const slopes = sz + lists.stage_capacity;
  const brick_of_block my(lists);
  gpu::stage_positions(b, gpu::brick_origin<double>(b, blockIdx.x), my.stage, my.num_staged, x, sx, sy, sz);
  for (unsigned k = threadIdx.x; k < my.num_staged; k += threads)
    slopes[k] = metal.slope[my.stage[k] & gpu::index_mask];
  __syncthreads();
  double kinetic = 0, energy = 0, virial = 0;
  for (std::uint32_t i = my.begin + threadIdx.x; i < my.end; i += threads) {
    const vector4 p = x[i];
    const double slope_here = metal.slope[i];
    const std::uint16_t* entry = my.entries + (i - my.begin);
    double fx = 0, fy = 0, fz = 0;
    for (unsigned k = lists.num_neighbours[i]; k > 0; --k, entry += my.end - my.begin) {
      const unsigned j = *entry;
      const double dx = p.x - sx[j], dy = p.y - sy[j], dz = p.z - sz[j];
      const double square = fma(dz, dz, fma(dy, dy, dx * dx));
      if (square >= metal.cutoff_square) continue;
      const double distance = sqrt(square), inverse = 1.0 / distance;
      const place at = place_in(metal.pair, distance);
      const double phi = value(metal.pair, at) * inverse;
      const double phi_slope = slope(metal.pair, at) * inverse - phi * inverse;
      const double density_slope = slope(metal.density, place_in(metal.density, distance));
      const double force = -((slope_here + slopes[j]) * density_slope + phi_slope) * inverse;
      fx = fma(dx, force, fx);
      fy = fma(dy, force, fy);
      fz = fma(dz, force, fz);
      if constexpr (wants_sums) {
        energy += 0.5 * phi;
        virial = fma(0.5 * square, force, virial);
      }
    }
    if constexpr (wants_sums) energy += metal.energy[i];
    gpu::integrate<wants_sums>(step, i, p, {fx, fy, fz, 0}, next_x, v, kinetic);
  }
  if constexpr (wants_sums) gpu::write_sums(sums + std::size_t{3} * blockIdx.x, kinetic, energy, virial);
}

template <class Kernel>
void allow(Kernel kernel, std::size_t shared) {
  if (shared > 48 * 1024)
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
}

template <bool wants_sums>
void go(imbrex::stream& s, const gpu_bricks& b, const gpu_step& step, const gpu_embedded& metal, const gpu_lists& lists,
        const vector4* x, vector4* next_x, vector4* v, double* sums) {
  const std::size_t shared = gpu_step_shared(lists, true);
  allow(go_embedded_kernel<wants_sums>, shared);
  imbrex::launch(s, wants_sums ? "step and sums" : "step", go_embedded_kernel<wants_sums>,
                 dim3(static_cast<unsigned>(b.count())), dim3(threads), shared, b, step, metal, lists, x, next_x, v,
                 sums);
}

}  // namespace

void gpu_embed(imbrex::stream& s, const gpu_bricks& b, const gpu_embedded& metal, const gpu_lists& lists,
               const vector4* x) {
  const std::size_t shared = gpu_step_shared(lists);
  allow(embed_kernel, shared);
  imbrex::launch(s, "embed", embed_kernel, dim3(static_cast<unsigned>(b.count())), dim3(threads), shared, b, metal,
                 lists, x);
}

void gpu_go_embedded(imbrex::stream& s, const gpu_bricks& b, const gpu_step& step, const gpu_embedded& metal,
                     const gpu_lists& lists, const vector4* x, vector4* next_x, vector4* v, double* sums) {
  sums != nullptr ? go<true>(s, b, step, metal, lists, x, next_x, v, sums)
                  : go<false>(s, b, step, metal, lists, x, next_x, v, sums);
}

}  // namespace md
