// The kernel of 23_gpu_until.cc: four cells in x and as many in y for each thread.
#include "23_gpu_until.h"

#include <imbrex/device/cuda/group_parts.h>
#include <imbrex/device/cuda/kernel_batch.h>

namespace {

constexpr int rows = 4, threads = 128;

__device__ float4 four_at(const float* p) { return *reinterpret_cast<const float4*>(p); }
__device__ void put(float* p, const float4& v) { *reinterpret_cast<float4*>(p) = v; }

__global__ void __launch_bounds__(threads) update_kernel(const __grid_constant__ imbrex::kernel_batch<sweep> all) {
  const sweep& t = all.arguments();  // of one of the stripes that this launch is for
  const dim3 block = all.block();
  const int x = 4 * static_cast<int>(block.x * threads + threadIdx.x), y0 = static_cast<int>(block.y) * rows;
  float change = 0;
  if (x < t.nx) {
    const auto row = [&t](int y) {
      return y < 0 ? t.beyond[upper] : y >= t.ny ? t.beyond[lower] : t.now + static_cast<long>(y) * t.nx;
    };
    float4 cells[rows + 2];
    float west[rows], east[rows];
#pragma unroll
    for (int k = 0; k < rows + 2; ++k) {
      const int y = min(y0 + k - 1, t.ny);
      cells[k] = four_at(row(y) + x);
      if (k == 0 || k > rows) continue;
      west[k - 1] = x > 0 ? row(y)[x - 1] : 0;
      east[k - 1] = x + 4 < t.nx ? row(y)[x + 4] : 0;
    }
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      const int y = y0 + k;
      if (y >= t.ny) break;
      const float4 &c = cells[k + 1], &n = cells[k], &s = cells[k + 2];
      float4 v = {0.25F * (west[k] + c.y + n.x + s.x), 0.25F * (c.x + c.z + n.y + s.y), 0.25F * (c.y + c.w + n.z + s.z),
                  0.25F * (c.z + east[k] + n.w + s.w)};
      if (x == 0) v.x = c.x;
      if (x + 4 == t.nx) v.w = c.w;
      put(t.next + static_cast<long>(y) * t.nx + x, v);
      if (y == 0) put(t.out[upper] + x, v);
      if (y == t.ny - 1) put(t.out[lower] + x, v);
      const float4 d = {v.x - c.x, v.y - c.y, v.z - c.z, v.w - c.w};
      change += d.x * d.x + d.y * d.y + d.z * d.z + d.w * d.w;
    }
  }
  imbrex::store_sum(t.change, all.group(), change);
}

dim3 blocks_of(int nx, int ny) {
  const auto number = [](int n, int each) { return static_cast<unsigned>((n + each - 1) / each); };
  return {number(nx, 4 * threads), number(ny, rows), 1};
}

}  // namespace

void gpu_update(imbrex::stream& s, const sweep& t) {
  imbrex::launch_batch(s, "update", update_kernel, blocks_of(t.nx, t.ny), dim3(threads), 0, t);
}
int num_gpu_groups(int nx, int ny) {
  const dim3 b = blocks_of(nx, ny);
  return static_cast<int>(b.x * b.y);
}
