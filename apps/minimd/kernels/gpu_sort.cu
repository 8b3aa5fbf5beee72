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

/// Whether direction `d` of a position can be followed: wrapped, or no further than the boxes beside this one.
__device__ bool keep(const gpu_bricks& b, int d, double& x) {
  return b.cut[d] ? x >= b.far_lo[d] && x < b.far_hi[d] : wrap(x, b.length[d]);
}

__device__ int cell(double x, double side, int n) { return gpu::clamped(static_cast<int>(x / side), n); }

__global__ void __launch_bounds__(threads)
    place_kernel(gpu_bricks b, std::uint32_t first, std::uint32_t end, bool have_come, gpu_atoms atoms,
                 std::uint32_t last_key, std::uint32_t* keys, std::uint32_t* order, gpu_findings* found) {
  const std::uint32_t i = first + blockIdx.x * threads + threadIdx.x;
  if (i >= end) return;
  vector4 p = atoms.x[i];
  const bool here = keep(b, 0, p.x) & keep(b, 1, p.y) & keep(b, 2, p.z);
  if (!here) atomicMin(&found->lost, static_cast<unsigned long long>(atoms.id[i]));
  atoms.x[i] = p;
  order[i] = i;
  keys[i] = last_key;
  const double at[3] = {p.x, p.y, p.z};
  for (int d = 0; d < 3; ++d)
    if (!here || (!have_come && gpu::region(b, d, at[d]) != 0)) return;
  int brick = 0, sub = 0;
  for (int d = 2; d >= 0; --d) {
    const double from = at[d] - b.lo[d];
    const int c = cell(from, b.side[d], b.num[d]);
    brick = brick * b.num[d] + c;
    sub = sub * gpu::sub_bins + cell(from - c * b.side[d], b.side[d] / gpu::sub_bins, gpu::sub_bins);
  }
  keys[i] = static_cast<std::uint32_t>(brick) * subs + static_cast<std::uint32_t>(sub);
}

__global__ void __launch_bounds__(threads)
    place_ghosts_kernel(gpu_bricks b, std::uint32_t n, const vector4* __restrict__ x, std::uint32_t* keys,
                        std::uint32_t* order) {
  const std::uint32_t i = blockIdx.x * threads + threadIdx.x;
  if (i >= n) return;
  const double at[3] = {x[i].x, x[i].y, x[i].z};
  int brick = 0;
  for (int d = 2; d >= 0; --d) {
    const int pad = b.cut[d] ? 1 : 0, num = b.num[d] + 2 * pad;
    brick = brick * num + gpu::clamped(static_cast<int>(floor((at[d] - b.lo[d]) / b.side[d])) + pad, num);
  }
  keys[i] = static_cast<std::uint32_t>(brick);
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
                std::uint32_t keys_of_brick, unsigned* most_in_brick) {
  const std::uint32_t k = blockIdx.x * threads + threadIdx.x;
  if (k > bricks) return;
  const std::uint32_t begin = first_not_below(keys, n, k * keys_of_brick);
  first[k] = begin;
  if (k < bricks && most_in_brick != nullptr)
    atomicMax(most_in_brick, first_not_below(keys, n, (k + 1) * keys_of_brick) - begin);
}

}  // namespace

std::uint32_t gpu_last_key(const gpu_bricks& b) { return static_cast<std::uint32_t>(b.count()) * subs; }
std::uint32_t gpu_last_ghost_key(const gpu_bricks& b) { return static_cast<std::uint32_t>(b.padded_count()); }

void gpu_place(imbrex::stream& s, const gpu_bricks& b, std::uint32_t first, std::uint32_t end, bool have_come,
               gpu_atoms atoms, std::uint32_t* keys, std::uint32_t* order, gpu_findings* found) {
  if (first == end) return;
  imbrex::launch(s, "place atoms", place_kernel, blocks_for(end - first), dim3(threads), 0, b, first, end, have_come,
                 atoms, gpu_last_key(b), keys, order, found);
}

void gpu_place_ghosts(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const vector4* x, std::uint32_t* keys,
                      std::uint32_t* order) {
  if (n == 0) return;
  imbrex::launch(s, "place ghosts", place_ghosts_kernel, blocks_for(n), dim3(threads), 0, b, n, x, keys, order);
}

std::size_t gpu_sort_scratch(std::uint32_t n) {
  std::size_t bytes = 0;  // which stay so where there is no GPU
  const std::uint32_t* in = nullptr;
  std::uint32_t* out = nullptr;
  cub::DeviceRadixSort::SortPairs(nullptr, bytes, in, out, in, out, n);
  return bytes;
}

void gpu_sort(imbrex::stream& s, std::uint32_t last_key, std::uint32_t n, const std::uint32_t* keys,
              std::uint32_t* sorted_keys, const std::uint32_t* order, std::uint32_t* sorted_order, void* scratch,
              std::size_t scratch_bytes) {
  if (n == 0) return;
  imbrex::detail::cuda_launch at(s, "sort atoms");
  if (at.is_simulated()) return at.run(nullptr, blocks_for(n), dim3(threads), 0, {});
  const cudaError_t status = cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, keys, sorted_keys, order,
                                                             sorted_order, n, 0, std::bit_width(last_key), at.native());
  at.done(status, dim3(1), dim3(1), 0);
}

void gpu_reorder(imbrex::stream& s, std::uint32_t n, const std::uint32_t* order, gpu_atoms from, gpu_atoms to) {
  if (n == 0) return;
  imbrex::launch(s, "reorder atoms", reorder_kernel, blocks_for(n), dim3(threads), 0, n, order, from, to);
}

void gpu_find_bricks(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const std::uint32_t* sorted_keys,
                     std::uint32_t* first, gpu_findings* found) {
  const auto bricks = static_cast<std::uint32_t>(b.count());
  imbrex::launch(s, "find bricks", find_kernel, blocks_for(bricks + 1), dim3(threads), 0, bricks, n, sorted_keys, first,
                 std::uint32_t{subs}, &found->most_in_brick);
}

void gpu_find_ghost_bricks(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const std::uint32_t* sorted_keys,
                           std::uint32_t* first) {
  const auto bricks = static_cast<std::uint32_t>(b.padded_count());
  imbrex::launch(s, "find ghosts' bricks", find_kernel, blocks_for(bricks + 1), dim3(threads), 0, bricks, n,
                 sorted_keys, first, std::uint32_t{1}, nullptr);
}

}  // namespace md
