#include "imbrex/device/cuda/cuda_launch.h"
#include "kernels/gpu_bricks.cuh"

namespace md {
namespace {

constexpr unsigned threads = gpu_brick_threads;

__device__ double square_outside(double x, double lo, double hi) {
  const double gap = x < lo ? lo - x : x > hi ? x - hi : 0.0;
  return gap * gap;
}

struct near_brick {
  double lo[3], hi[3], square;

  __device__ bool has(const vector4& p) const {
    return square_outside(p.x, lo[0], hi[0]) + square_outside(p.y, lo[1], hi[1]) + square_outside(p.z, lo[2], hi[2]) <
           square;
  }
};

/// What a brick's atoms may need, into the list and into shared memory.
struct staging {
  gpu_staged* stage;
  double *sx, *sy, *sz;
  unsigned capacity, num;
  unsigned* per_warp;

  /// By all threads of the block; thread for thread one atom, or none.
  __device__ void add(bool yes, std::uint32_t j, unsigned image, const vector4& p) {
    unsigned more;
    const unsigned at = num + gpu::rank_of(yes, per_warp, more);
    if (yes && at < capacity) {
      stage[at] = j | image << gpu_index_bits;
      sx[at] = p.x;
      sy[at] = p.y;
      sz[at] = p.z;
    }
    num += more;
  }
};

/// The brick beside another, by which image, and whether atoms of this box are there.
struct brick_beside {
  std::uint32_t own = 0, padded = 0;
  unsigned image = 0;
  bool has_own = true;

  __device__ brick_beside(const gpu_bricks& b, const int (&of)[3], int k) {
    const int offset[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
    for (int d = 2; d >= 0; --d) {
      int shift = 0, c = of[d] + offset[d];
      if (!b.cut[d]) c = gpu::wrapped(of[d], offset[d], b.num[d], shift);
      has_own = has_own && c >= 0 && c < b.num[d];
      own = own * b.num[d] + c;
      padded = b.cut[d] ? padded * (b.num[d] + 2) + c + 1 : padded * b.num[d] + c;
      image = image * 3 + static_cast<unsigned>(shift + 1);
    }
  }
};

// Staged atoms stand in the order of bricks and of atoms in them, so that all that follows is the same every time.
__global__ void __launch_bounds__(threads)
    build_kernel(gpu_bricks b, const vector4* __restrict__ x, std::uint32_t num_own, gpu_ghosts ghosts, gpu_lists lists,
                 gpu_findings* found) {
  extern __shared__ double staged_positions[];
  __shared__ unsigned per_warp[threads / 32];
  double* const sx = staged_positions;
  double* const sy = sx + lists.stage_capacity;
  double* const sz = sy + lists.stage_capacity;
  const std::uint32_t brick = blockIdx.x;
  const int place[3] = {static_cast<int>(brick % b.num[0]), static_cast<int>(brick / b.num[0] % b.num[1]),
                        static_cast<int>(brick / b.num[0] / b.num[1])};
  gpu_staged* const stage = lists.staged + std::size_t{brick} * lists.stage_capacity;
  const double square = b.reach * b.reach;
  near_brick near{{}, {}, square};
  for (int d = 0; d < 3; ++d) {
    near.lo[d] = b.lo[d] + place[d] * b.side[d];
    near.hi[d] = near.lo[d] + b.side[d];
  }
  staging staged{stage, sx, sy, sz, lists.stage_capacity, 0, per_warp};
  unsigned own_staged = 0;
  for (int k = 0; k < 27; ++k) {
    const brick_beside other(b, place, k);
    if (k == 13) own_staged = staged.num;
    if (other.has_own) {
      const std::uint32_t end = lists.first[other.own + 1];
      for (std::uint32_t base = lists.first[other.own]; base < end; base += threads) {
        const std::uint32_t j = base + threadIdx.x;
        vector4 p = j < end ? x[j] : vector4{};
        gpu::add_image(p, other.image, b);
        staged.add(j < end && near.has(p), j, other.image, p);
      }
    }
    if (ghosts.order == nullptr) continue;
    const std::uint32_t end = ghosts.first[other.padded + 1];
    for (std::uint32_t base = ghosts.first[other.padded]; base < end; base += threads) {
      const std::uint32_t g = base + threadIdx.x, j = num_own + (g < end ? ghosts.order[g] : 0);
      vector4 p = g < end ? x[j] : vector4{};
      gpu::add_image(p, other.image, b);
      staged.add(g < end && near.has(p), j, other.image, p);
    }
  }
  unsigned num = staged.num;
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicMax(&found->most_staged, num);
    lists.num_staged[brick] = min(num, lists.stage_capacity);
    if (lists.half) lists.own_staged[brick] = static_cast<std::uint16_t>(own_staged);
  }
  num = min(num, lists.stage_capacity);

  const std::uint32_t begin = lists.first[brick], end = lists.first[brick + 1], in_brick = end - begin;
  std::uint16_t* const entries = lists.entries + std::size_t{begin} * lists.rows;
  for (std::uint32_t i = begin + threadIdx.x; i < end; i += threads) {
    const vector4 p = x[i];
    unsigned rows = 0;
    const auto list_those = [&](unsigned first_staged, unsigned end_staged) {
      for (unsigned k = first_staged; k < end_staged; ++k) {
        const double dx = p.x - sx[k], dy = p.y - sy[k], dz = p.z - sz[k];
        if (fma(dz, dz, fma(dy, dy, dx * dx)) >= square || stage[k] == (i | gpu::own_image << gpu_index_bits)) continue;
        if (rows < lists.rows) entries[std::size_t{rows} * in_brick + (i - begin)] = static_cast<std::uint16_t>(k);
        ++rows;
      }
    };
    if (lists.half) {  // those before it in its brick have the pair
      list_those(0, min(own_staged, num));
      list_those(own_staged + (i - begin), num);
    } else {
      list_those(0, num);
    }
    atomicMax(&found->most_neighbours, rows);
    lists.num_neighbours[i] = static_cast<std::uint16_t>(min(rows, lists.rows));
  }
}

}  // namespace

void gpu_build_lists(imbrex::stream& s, const gpu_bricks& b, const vector4* x, std::uint32_t num_own,
                     const gpu_ghosts& ghosts, const gpu_lists& lists, gpu_findings* found) {
  const std::size_t shared = gpu_step_shared(lists);
  if (shared > 48 * 1024)
    cudaFuncSetAttribute(build_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  imbrex::launch(s, "build lists", build_kernel, dim3(static_cast<unsigned>(b.count())), dim3(threads), shared, b, x,
                 num_own, ghosts, lists, found);
}

}  // namespace md
