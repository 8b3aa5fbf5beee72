#include <algorithm>

#include "imbrex/device/cuda/cuda_launch.h"
#include "kernels/gpu_kernels.h"
#include "kernels/gpu_rows.cuh"
#include "support/exact_sum.h"

namespace jacobi {
namespace {

using limb = unsigned long long;

constexpr unsigned threads = gpu::row_threads;
constexpr int num_limbs = apps::exact_sum::num_limbs, top_limb = num_limbs - 2, not_finite = num_limbs - 1;

using gpu::for_each_row;
using gpu::mixed;

__global__ void __launch_bounds__(threads)
    hash_kernel(gpu_layout layout, const double* __restrict__ field, extents grid, box cells, limb* result) {
  limb sum = 0;
  for_each_row(layout, [&](std::int64_t at, std::int64_t y, std::int64_t z) {
    const std::int64_t first = ((cells.z0 + z) * grid.ny + cells.y0 + y) * grid.nx + cells.x0;
    for (std::int64_t x = threadIdx.x % 32; x < layout.size.nx; x += 32)
      sum += mixed(static_cast<limb>(__double_as_longlong(field[at + x])) ^ mixed(static_cast<limb>(first + x)));
  });
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(result, sum);
}

/// A thread's share of an exact sum of values that are not negative: three limbs, which follow the values' magnitude.
/// What they hold goes to the thread block's limbs whenever the magnitude changes.
class limb_window {
 public:
  __device__ __forceinline__ explicit limb_window(limb* shared) : shared_(shared) {}

  __device__ __forceinline__ void add(double value) {
    const limb bits = static_cast<limb>(__double_as_longlong(value)) & ~(limb{1} << 63);
    if (bits == 0) return;
    const int exponent = static_cast<int>(bits >> 52);
    if (exponent == 0x7ff) {
      atomicAdd(shared_ + not_finite, limb{1});
      return;
    }
    limb mantissa = bits & ((limb{1} << 52) - 1);
    if (exponent != 0) mantissa |= limb{1} << 52;
    const int position = exponent != 0 ? exponent - 1 : 0, shift = position % 32;
    if (position / 32 != first_) {
      flush();
      first_ = position / 32;
    }
    const limb low = mantissa << shift;
    low_ += low & 0xffffffffu;
    middle_ += low >> 32;
    high_ += (mantissa >> 32) >> (32 - shift);
  }

  /// Adds less than 2^32 to each of four limbs.
  __device__ __forceinline__ void flush() {
    middle_ += low_ >> 32;
    high_ += middle_ >> 32;
    add_limb(0, low_ & 0xffffffffu);
    add_limb(1, middle_ & 0xffffffffu);
    add_limb(2, high_ & 0xffffffffu);
    add_limb(3, high_ >> 32);
    low_ = middle_ = high_ = 0;
  }

 private:
  __device__ __forceinline__ void add_limb(int i, limb value) {
    if (value != 0) atomicAdd(shared_ + first_ + i, value);
  }

  limb* shared_;
  int first_ = 0;
  limb low_ = 0, middle_ = 0, high_ = 0;
};

/// A thread adds less than 2^31 cells to its window and flushes it as often at most, so that no limb overflows: each
/// stays below 2^63, and the carries leave less than 2^32 in it for the sum over the thread blocks.
__global__ void __launch_bounds__(threads)
    change_kernel(gpu_layout layout, const double* __restrict__ before, const double* __restrict__ after, limb* limbs) {
  __shared__ limb shared[num_limbs];
  for (unsigned i = threadIdx.x; i < num_limbs; i += threads) shared[i] = 0;
  __syncthreads();
  limb_window sum(shared);
  for_each_row(layout, [&](std::int64_t at, std::int64_t, std::int64_t) {
    for (std::int64_t x = threadIdx.x % 32; x < layout.size.nx; x += 32) {
      const double change = __dsub_rn(after[at + x], before[at + x]);
      sum.add(__dmul_rn(change, change));
    }
  });
  sum.flush();
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < top_limb; ++i) {
      shared[i + 1] += shared[i] >> 32;
      shared[i] &= 0xffffffffu;
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < num_limbs; i += threads)
    if (shared[i] != 0) atomicAdd(limbs + i, shared[i]);
}

}  // namespace

void gpu_hash(imbrex::stream& s, const gpu_layout& layout, const double* field, extents grid, const box& cells,
              unsigned long long* result) {
  imbrex::expect(s, {layout.bytes(1)});
  imbrex::launch(s, "jacobi hash", hash_kernel, dim3(gpu::blocks_for_rows(layout)), dim3(threads), 0, layout, field,
                 grid, cells, result);
}

void gpu_change(imbrex::stream& s, const gpu_layout& layout, const double* before, const double* after,
                long long* limbs) {
  imbrex::expect(s, {layout.bytes(2)});
  imbrex::launch(s, "jacobi change", change_kernel, dim3(gpu::blocks_for_rows(layout)), dim3(threads), 0, layout,
                 before, after, reinterpret_cast<limb*>(limbs));
}

}  // namespace jacobi
