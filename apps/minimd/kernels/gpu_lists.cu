#include "imbrex/device/cuda/cuda_launch.h"
#include "kernels/gpu_bricks.cuh"

namespace md {
namespace {

constexpr unsigned threads = gpu_brick_threads;

__device__ double square_outside(double x, double lo, double hi) {
  const double gap = x < lo ? lo - x : x > hi ? x - hi : 0.0;
  return gap * gap;
}

/// How many threads of the block before this one say yes, and how many do in all.
__device__ unsigned rank_of(bool yes, unsigned* per_warp, unsigned& all) {
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

// Staged atoms stand in the order of bricks and of atoms in them, so that all that follows is the same every time.
__global__ void __launch_bounds__(threads)
    build_kernel(gpu_bricks b, const vector4* __restrict__ x, gpu_lists lists, gpu_findings* found) {
  extern __shared__ double staged_positions[];
  __shared__ unsigned per_warp[threads / 32];
  double* const sx = staged_positions;
  double* const sy = sx + lists.stage_capacity;
  double* const sz = sy + lists.stage_capacity;
  const std::uint32_t brick = blockIdx.x;
  const int bx = brick % b.num[0], by = brick / b.num[0] % b.num[1], bz = brick / b.num[0] / b.num[1];
  const double lo[3] = {bx * b.side[0], by * b.side[1], bz * b.side[2]};
  gpu_staged* const stage = lists.staged + std::size_t{brick} * lists.stage_capacity;
  const double square = b.reach * b.reach;

  unsigned num = 0;
  for (int k = 0; k < 27; ++k) {
    int ix, iy, iz;
    const int cx = gpu::wrapped(bx, k % 3 - 1, b.num[0], ix), cy = gpu::wrapped(by, k / 3 % 3 - 1, b.num[1], iy),
              cz = gpu::wrapped(bz, k / 9 - 1, b.num[2], iz);
    const unsigned image = static_cast<unsigned>((iz + 1) * 9 + (iy + 1) * 3 + ix + 1);
    const std::uint32_t other = (cz * b.num[1] + cy) * b.num[0] + cx;
    const std::uint32_t begin = lists.first[other], end = lists.first[other + 1];
    for (std::uint32_t base = begin; base < end; base += threads) {
      const std::uint32_t j = base + threadIdx.x;
      bool near = false;
      vector4 p{};
      if (j < end) {
        p = x[j];
        gpu::add_image(p, image, b);
        near = square_outside(p.x, lo[0], lo[0] + b.side[0]) + square_outside(p.y, lo[1], lo[1] + b.side[1]) +
                   square_outside(p.z, lo[2], lo[2] + b.side[2]) <
               square;
      }
      unsigned more;
      const unsigned at = num + rank_of(near, per_warp, more);
      if (near && at < lists.stage_capacity) {
        stage[at] = j | image << gpu_index_bits;
        sx[at] = p.x;
        sy[at] = p.y;
        sz[at] = p.z;
      }
      num += more;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicMax(&found->most_staged, num);
    lists.num_staged[brick] = min(num, lists.stage_capacity);
  }
  num = min(num, lists.stage_capacity);

  const std::uint32_t begin = lists.first[brick], end = lists.first[brick + 1], in_brick = end - begin;
  std::uint16_t* const entries = lists.entries + std::size_t{begin} * lists.rows;
  for (std::uint32_t i = begin + threadIdx.x; i < end; i += threads) {
    const vector4 p = x[i];
    unsigned rows = 0;
    for (unsigned k = 0; k < num; ++k) {
      const double dx = p.x - sx[k], dy = p.y - sy[k], dz = p.z - sz[k];
      if (fma(dz, dz, fma(dy, dy, dx * dx)) >= square || stage[k] == (i | gpu::own_image << gpu_index_bits)) continue;
      if (rows < lists.rows) entries[std::size_t{rows} * in_brick + (i - begin)] = static_cast<std::uint16_t>(k);
      ++rows;
    }
    atomicMax(&found->most_neighbours, rows);
    lists.num_neighbours[i] = static_cast<std::uint16_t>(min(rows, lists.rows));
  }
}

}  // namespace

void gpu_build_lists(imbrex::stream& s, const gpu_bricks& b, const vector4* x, const gpu_lists& lists,
                     gpu_findings* found) {
  const std::size_t shared = gpu_step_shared(lists);
  if (shared > 48 * 1024)
    cudaFuncSetAttribute(build_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  imbrex::launch(s, "build lists", build_kernel, dim3(static_cast<unsigned>(b.count())), dim3(threads), shared, b, x,
                 lists, found);
}

}  // namespace md
