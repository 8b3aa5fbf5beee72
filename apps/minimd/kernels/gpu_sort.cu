#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "imbrex/device/cuda/cuda_launch.h"
#include "kernels/gpu_bricks.cuh"

namespace md {
namespace {

constexpr unsigned threads = 256;
constexpr int subs = gpu::sub_bins * gpu::sub_bins * gpu::sub_bins;

dim3 blocks_for(std::uint64_t n) { return {static_cast<unsigned>((n + threads - 1) / threads)}; }

__device__ bool wrap(double& x, double length) {
  if (x < 0.0) x += length;
  if (x >= length) x -= length;
  return x >= 0.0 && x < length;
}

__device__ int cell(double x, double side, int n) { return gpu::clamped(static_cast<int>(x / side), n); }

__global__ void __launch_bounds__(threads) place_kernel(gpu_bricks b, std::uint32_t n, vector4* x, std::uint32_t* keys,
                                                        std::uint32_t* order, gpu_findings* found) {
  const std::uint32_t i = blockIdx.x * threads + threadIdx.x;
  if (i >= n) return;
  vector4 p = x[i];
  const bool here = wrap(p.x, b.length[0]) & wrap(p.y, b.length[1]) & wrap(p.z, b.length[2]);
  if (!here) atomicMin(&found->lost, i);
  x[i] = p;
  int brick = 0, sub = 0;
  const double at[3] = {p.x, p.y, p.z};
  for (int d = 2; d >= 0; --d) {
    const int c = here ? cell(at[d], b.side[d], b.num[d]) : 0;
    const double inside = at[d] - c * b.side[d];
    brick = brick * b.num[d] + c;
    sub = sub * gpu::sub_bins + (here ? cell(inside, b.side[d] / gpu::sub_bins, gpu::sub_bins) : 0);
  }
  keys[i] = static_cast<std::uint32_t>(brick) * subs + static_cast<std::uint32_t>(sub);
  order[i] = i;
}

__global__ void __launch_bounds__(threads)
    reorder_kernel(std::uint32_t n, const std::uint32_t* __restrict__ order, gpu_atoms from, gpu_atoms to) {
  const std::uint32_t i = blockIdx.x * threads + threadIdx.x;
  if (i >= n) return;
  const std::uint32_t j = order[i];
  to.x[i] = from.x[j];
  to.v[i] = from.v[j];
  to.id[i] = from.id[j];
}

__device__ std::uint32_t first_not_below(const std::uint32_t* keys, std::uint32_t n, std::uint32_t key) {
  std::uint32_t lo = 0, hi = n;
  while (lo < hi) {
    const std::uint32_t mid = lo + (hi - lo) / 2;
    keys[mid] < key ? lo = mid + 1 : hi = mid;
  }
  return lo;
}

__global__ void __launch_bounds__(threads)
    find_kernel(std::uint32_t bricks, std::uint32_t n, const std::uint32_t* __restrict__ keys, std::uint32_t* first,
                gpu_findings* found) {
  const std::uint32_t k = blockIdx.x * threads + threadIdx.x;
  if (k > bricks) return;
  const std::uint32_t begin = first_not_below(keys, n, k * subs);
  first[k] = begin;
  if (k < bricks) atomicMax(&found->most_in_brick, first_not_below(keys, n, (k + 1) * subs) - begin);
}

}  // namespace

void gpu_place(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, gpu_atoms atoms, std::uint32_t* keys,
               std::uint32_t* order, gpu_findings* found) {
  imbrex::launch(s, "place atoms", place_kernel, blocks_for(n), dim3(threads), 0, b, n, atoms.x, keys, order, found);
}

std::size_t gpu_sort_scratch(std::uint32_t n) {
  std::size_t bytes = 0;
  const std::uint32_t* in = nullptr;
  std::uint32_t* out = nullptr;
  cub::DeviceRadixSort::SortPairs(nullptr, bytes, in, out, in, out, n);
  return bytes;
}

void gpu_sort(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const std::uint32_t* keys,
              std::uint32_t* sorted_keys, const std::uint32_t* order, std::uint32_t* sorted_order, void* scratch,
              std::size_t scratch_bytes) {
  imbrex::detail::cuda_launch at(s, "sort atoms");
  const int bits = std::bit_width(static_cast<std::uint64_t>(b.count()) * subs);
  const cudaError_t status = cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, keys, sorted_keys, order,
                                                             sorted_order, n, 0, std::min(bits, 32), at.native());
  at.done(status, dim3(1), dim3(1), 0);
}

void gpu_reorder(imbrex::stream& s, std::uint32_t n, const std::uint32_t* order, gpu_atoms from, gpu_atoms to) {
  imbrex::launch(s, "reorder atoms", reorder_kernel, blocks_for(n), dim3(threads), 0, n, order, from, to);
}

void gpu_find_bricks(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const std::uint32_t* sorted_keys,
                     std::uint32_t* first, gpu_findings* found) {
  const auto bricks = static_cast<std::uint32_t>(b.count());
  imbrex::launch(s, "find bricks", find_kernel, blocks_for(bricks + 1), dim3(threads), 0, bricks, n, sorted_keys, first,
                 found);
}

}  // namespace md
