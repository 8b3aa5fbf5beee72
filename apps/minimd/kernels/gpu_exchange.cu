#include <algorithm>
#include <cub/device/device_scan.cuh>

#include "imbrex/device/cuda/cuda_launch.h"
#include "kernels/gpu_bricks.cuh"
#include "kernels/gpu_exchange.h"

namespace md {
namespace {

using gpu::threads;

/// Of kernels that wait for memory, of another GPU even, while a step computes: more would take its place.
constexpr unsigned few_blocks = 128;

unsigned blocks_for(std::uint64_t n) { return static_cast<unsigned>((n + threads - 1) / threads); }

/// In the box of the target.
struct leaves {
  const gpu_bricks& b;
  int region[3];

  __device__ leaves(const gpu_bricks& bricks, const vector4& p)
      : b(bricks), region{gpu::region(b, 0, p.x), gpu::region(b, 1, p.y), gpu::region(b, 2, p.z)} {}
  __device__ bool any() const { return region[0] != 0 || region[1] != 0 || region[2] != 0; }
  __device__ bool to(const signed char (&offset)[3]) const {
    return region[0] == offset[0] && region[1] == offset[1] && region[2] == offset[2];
  }
};

/// Within reach of the box of the target.
struct is_near {
  double below[3], above[3], square;

  __device__ is_near(const gpu_bricks& b, const vector4& p)
      : below{p.x - b.lo[0], p.y - b.lo[1], p.z - b.lo[2]},
        above{b.hi[0] - p.x, b.hi[1] - p.y, b.hi[2] - p.z},
        square(b.reach * b.reach) {
    for (int d = 0; d < 3; ++d)
      if (!b.cut[d]) below[d] = above[d] = 2.0 * b.reach;
  }
  __device__ bool any() const {
    double least = below[0];
    for (int d = 0; d < 3; ++d) least = fmin(least, fmin(below[d], above[d]));
    return least * fabs(least) < square;
  }
  __device__ bool to(const signed char (&offset)[3]) const {
    double sum = 0;
    for (int d = 0; d < 3; ++d) {
      const double gap = offset[d] < 0 ? below[d] : offset[d] > 0 ? above[d] : 0.0;
      sum += gap > 0.0 ? gap * gap : 0.0;
    }
    return sum < square;
  }
};

template <class Who>
__global__ void __launch_bounds__(threads)
    count_kernel(gpu_bricks b, gpu_targets t, std::uint32_t n, const vector4* __restrict__ x, std::uint32_t* counts) {
  const std::uint32_t i = blockIdx.x * threads + threadIdx.x;
  const Who who(b, i < n ? x[i] : vector4{});
  const bool here = i < n;
  const bool some = __syncthreads_or(here && who.any()) != 0;
  for (int k = 0; k < t.num; ++k) {
    const int num = some ? __syncthreads_count(here && who.to(t.offset[k])) : 0;
    if (threadIdx.x == 0) counts[std::size_t{static_cast<unsigned>(k)} * gridDim.x + blockIdx.x] = num;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) counts[std::size_t{static_cast<unsigned>(t.num)} * gridDim.x] = 0;
}

__global__ void gather_kernel(int targets, std::size_t stride, const std::uint32_t* counts, std::uint32_t* first) {
  if (static_cast<int>(threadIdx.x) <= targets) first[threadIdx.x] = counts[threadIdx.x * stride];
}

template <class Who>
__global__ void __launch_bounds__(threads)
    choose_kernel(gpu_bricks b, gpu_targets t, std::uint32_t n, const vector4* __restrict__ x, gpu_chosen chosen) {
  __shared__ unsigned per_warp[threads / 32];
  const std::uint32_t i = blockIdx.x * threads + threadIdx.x;
  const Who who(b, i < n ? x[i] : vector4{});
  const bool here = i < n;
  if (__syncthreads_or(here && who.any()) == 0) return;
  for (int k = 0; k < t.num; ++k) {
    const bool yes = here && who.to(t.offset[k]);
    unsigned all;
    const unsigned rank = gpu::rank_of(yes, per_warp, all);
    if (yes)
      chosen.atoms[chosen.counts[std::size_t{static_cast<unsigned>(k)} * gridDim.x + blockIdx.x] + rank] =
          i | gpu_staged{t.image[k]} << gpu_index_bits;
  }
}

__device__ vector4 shifted(const gpu_bricks& b, const vector4* x, gpu_staged one) {
  vector4 p = x[one & gpu::index_mask];
  gpu::add_image(p, one >> gpu_index_bits, b);
  return p;
}

__global__ void __launch_bounds__(threads)
    pack_movers_kernel(gpu_bricks b, std::uint32_t n, const gpu_staged* __restrict__ chosen, gpu_atoms atoms,
                       gpu_mover* out) {
  const std::uint32_t k = blockIdx.x * threads + threadIdx.x;
  if (k >= n) return;
  gpu_mover m{shifted(b, atoms.x, chosen[k]), atoms.v[chosen[k] & gpu::index_mask]};
  m.x.w = __longlong_as_double(atoms.id[chosen[k] & gpu::index_mask]);
  out[k] = m;
}

__global__ void __launch_bounds__(threads)
    pack_positions_kernel(gpu_bricks b, std::uint32_t n, const gpu_staged* __restrict__ chosen,
                          const vector4* __restrict__ x, vector4* out) {
  for (std::uint32_t k = blockIdx.x * threads + threadIdx.x; k < n; k += gridDim.x * threads)
    out[k] = shifted(b, x, chosen[k]);
}

__global__ void __launch_bounds__(threads) pack_slopes_kernel(std::uint32_t n, const gpu_staged* __restrict__ chosen,
                                                              const double* __restrict__ slope, double* out) {
  const std::uint32_t k = blockIdx.x * threads + threadIdx.x;
  if (k < n) out[k] = slope[chosen[k] & gpu::index_mask];
}

template <class T>
__device__ const T& message_element(const gpu_messages<T>& m, std::uint32_t k) {
  int p = 0;
  while (k >= m.first[p + 1]) ++p;
  return m.from[p][k - m.first[p]];
}

template <class T>
__global__ void __launch_bounds__(threads) unpack_kernel(gpu_messages<T> m, T* to) {
  for (std::uint32_t k = blockIdx.x * threads + threadIdx.x; k < m.first[m.num]; k += gridDim.x * threads)
    to[k] = message_element(m, k);
}

__global__ void __launch_bounds__(threads)
    unpack_movers_kernel(gpu_messages<gpu_mover> m, std::uint32_t n, gpu_atoms atoms) {
  const std::uint32_t k = blockIdx.x * threads + threadIdx.x;
  if (k >= m.first[m.num]) return;
  const gpu_mover a = message_element(m, k);
  atoms.x[n + k] = {a.x.x, a.x.y, a.x.z, 0};
  atoms.v[n + k] = a.v;
  atoms.id[n + k] = __double_as_longlong(a.x.w);
}

template <class T>
void unpack(imbrex::stream& s, const gpu_messages<T>& m, T* to) {
  if (m.count() == 0) return;
  imbrex::launch(s, "unpack", unpack_kernel<T>, dim3(std::min(blocks_for(m.count()), few_blocks)), dim3(threads), 0, m,
                 to);
}

}  // namespace

std::size_t gpu_counts_of(const gpu_targets& t, std::uint32_t n) {
  return std::size_t{blocks_for(std::max(n, 1u))} * static_cast<std::size_t>(t.num) + 1;
}

std::size_t gpu_scan_scratch(std::size_t counts) {
  std::size_t bytes = 0;  // which stay so where there is no GPU
  std::uint32_t* all = nullptr;
  cub::DeviceScan::ExclusiveSum(nullptr, bytes, all, all, counts);
  return bytes;
}

void gpu_count(imbrex::stream& s, const gpu_bricks& b, const gpu_targets& t, gpu_choice who, std::uint32_t n,
               const vector4* x, std::uint32_t* counts, void* scratch, std::size_t scratch_bytes,
               std::uint32_t* first) {
  const unsigned blocks = blocks_for(std::max(n, 1u));
  who == gpu_choice::leavers
      ? imbrex::launch(s, "count leavers", count_kernel<leaves>, dim3(blocks), dim3(threads), 0, b, t, n, x, counts)
      : imbrex::launch(s, "count ghosts", count_kernel<is_near>, dim3(blocks), dim3(threads), 0, b, t, n, x, counts);
  {
    imbrex::detail::cuda_launch at(s, "add up counts");
    if (at.is_simulated()) {
      at.run(nullptr, dim3(blocks), dim3(threads), 0, {});
    } else {
      const cudaError_t status =
          cub::DeviceScan::ExclusiveSum(scratch, scratch_bytes, counts, counts, gpu_counts_of(t, n), at.native());
      at.done(status, dim3(1), dim3(1), 0);
    }
  }
  imbrex::launch(s, "gather counts", gather_kernel, dim3(1), dim3(32), 0, t.num, std::size_t{blocks}, counts, first);
}

void gpu_choose(imbrex::stream& s, const gpu_bricks& b, const gpu_targets& t, gpu_choice who, std::uint32_t n,
                const vector4* x, const gpu_chosen& chosen) {
  if (n == 0) return;
  const dim3 blocks(blocks_for(n));
  who == gpu_choice::leavers
      ? imbrex::launch(s, "choose leavers", choose_kernel<leaves>, blocks, dim3(threads), 0, b, t, n, x, chosen)
      : imbrex::launch(s, "choose ghosts", choose_kernel<is_near>, blocks, dim3(threads), 0, b, t, n, x, chosen);
}

void gpu_pack_movers(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const gpu_staged* chosen, gpu_atoms atoms,
                     gpu_mover* out) {
  if (n == 0) return;
  imbrex::launch(s, "pack leavers", pack_movers_kernel, dim3(blocks_for(n)), dim3(threads), 0, b, n, chosen, atoms,
                 out);
}

void gpu_pack_positions(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const gpu_staged* chosen,
                        const vector4* x, vector4* out) {
  if (n == 0) return;
  imbrex::launch(s, "pack positions", pack_positions_kernel, dim3(std::min(blocks_for(n), few_blocks)), dim3(threads),
                 0, b, n, chosen, x, out);
}

void gpu_pack_slopes(imbrex::stream& s, std::uint32_t n, const gpu_staged* chosen, const double* slope, double* out) {
  if (n == 0) return;
  imbrex::launch(s, "pack slopes", pack_slopes_kernel, dim3(blocks_for(n)), dim3(threads), 0, n, chosen, slope, out);
}

void gpu_unpack(imbrex::stream& s, const gpu_messages<vector4>& m, vector4* to) { unpack(s, m, to); }
void gpu_unpack(imbrex::stream& s, const gpu_messages<double>& m, double* to) { unpack(s, m, to); }

void gpu_unpack(imbrex::stream& s, const gpu_messages<gpu_mover>& m, std::uint32_t n, gpu_atoms atoms) {
  if (m.count() == 0) return;
  imbrex::launch(s, "unpack arrivals", unpack_movers_kernel, dim3(blocks_for(m.count())), dim3(threads), 0, m, n,
                 atoms);
}

}  // namespace md
