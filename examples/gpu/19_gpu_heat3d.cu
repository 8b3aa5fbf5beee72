// The kernel of 19_gpu_heat3d.cc: two cells in x for each thread, which marches in z.
#include "19_gpu_heat3d.h"

#include <imbrex/device/cuda/kernel_batch.h>

namespace {

__device__ double2 pair_at(const double* p) { return *reinterpret_cast<const double2*>(p); }
__device__ void put(double* p, const double2& v) { *reinterpret_cast<double2*>(p) = v; }

/// The new cells of a thread's pair in planes z0 <= z < z1. Of `at_once` of them the loads come first: faster where
/// blocks are large. What lies on top of the block goes `down`: the edges that a neighbour waits for come first.
template <int at_once, bool down>
__device__ __forceinline__ void march(const sweep& t, int x, int y, int z0, int z1) {
  constexpr int step = down ? -1 : 1;
  const int nx = t.nx, ny = t.ny, nz = t.nz, plane = nx * ny, in_plane = y * nx + x;
  const int begin = down ? z1 - 1 : z0, last = down ? 0 : nz - 1;
  const double* __restrict__ now = t.now;
  const auto halo_pair = [&](side f, int k) {
    return t.halo[f] != nullptr ? pair_at(t.halo[f] + k) : make_double2(0, 0);
  };
  const auto halo = [&](side f, int k) { return t.halo[f] != nullptr ? t.halo[f][k] : 0.0; };
  long i = static_cast<long>(begin) * plane + in_plane;
  const bool from_halo = down ? z1 == nz : z0 == 0;
  double2 behind = from_halo ? halo_pair(down ? top : bottom, in_plane) : pair_at(now + i - step * plane);
  double2 here = pair_at(now + i);
  for (int first = 0; first < z1 - z0; first += at_once) {
    double2 s[at_once], n[at_once], ahead[at_once];
    double w[at_once], e[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const int num = min(first + k, z1 - z0 - 1), z = begin + step * num;
      const long j = i + static_cast<long>(num - first) * step * plane;
      ahead[k] = z != last ? pair_at(now + j + step * plane) : halo_pair(down ? bottom : top, in_plane);
      w[k] = x > 0 ? now[j - 1] : halo(west, z * ny + y);
      e[k] = x + 2 < nx ? now[j + 2] : halo(east, z * ny + y);
      s[k] = y > 0 ? pair_at(now + j - nx) : halo_pair(south, z * nx + x);
      n[k] = y < ny - 1 ? pair_at(now + j + nx) : halo_pair(north, z * nx + x);
    }
#pragma unroll
    for (int k = 0; k < at_once; ++k, i += step * plane) {
      if (first + k >= z1 - z0) break;
      const int z = begin + step * (first + k);
      const double2 below = down ? ahead[k] : behind, above = down ? behind : ahead[k];
      const double2 v = {(here.x + w[k] + here.y + s[k].x + n[k].x + below.x + above.x) * (1.0 / 7),
                         (here.y + here.x + e[k] + s[k].y + n[k].y + below.y + above.y) * (1.0 / 7)};
      put(t.next + i, v);
      if (x == 0 && t.edge[west] != nullptr) t.edge[west][z * ny + y] = v.x;
      if (x + 2 >= nx && t.edge[east] != nullptr) t.edge[east][z * ny + y] = v.y;
      if (y == 0 && t.edge[south] != nullptr) put(t.edge[south] + z * nx + x, v);
      if (y == ny - 1 && t.edge[north] != nullptr) put(t.edge[north] + z * nx + x, v);
      if (z == 0 && t.edge[bottom] != nullptr) put(t.edge[bottom] + in_plane, v);
      if (z == nz - 1 && t.edge[top] != nullptr) put(t.edge[top] + in_plane, v);
      behind = here;
      here = ahead[k];
    }
  }
}

/// A thread goes through `planes`. As many registers as leave room for `resident` thread blocks on a multiprocessor.
template <int planes, int at_once, int threads, int resident>
__global__ void __launch_bounds__(threads, resident)
    update_kernel(const __grid_constant__ imbrex::kernel_batch<sweep> all) {
  all.visit([&](const sweep& t, dim3 block) {  // of one of the blocks that this launch is for
    const int x = 2 * static_cast<int>(block.x * blockDim.x + threadIdx.x);
    const int y = static_cast<int>(block.y * blockDim.y + threadIdx.y);
    const int z0 = static_cast<int>(block.z) * planes, z1 = min(z0 + planes, t.nz);
    if (x >= t.nx || y >= t.ny) return;
    z1 == t.nz ? march<at_once, true>(t, x, y, z0, z1) : march<at_once, false>(t, x, y, z0, z1);
  });
}

}  // namespace

void gpu_update(imbrex::stream& s, const sweep& t) {
  const auto launch = [&](auto kernel, int planes, int x, int y) {
    const auto number = [](int n, int each) { return static_cast<unsigned>((n + each - 1) / each); };
    const dim3 threads(static_cast<unsigned>(x), static_cast<unsigned>(y));
    imbrex::launch_batch(s, "update", kernel, {number(t.nx, 2 * x), number(t.ny, y), number(t.nz, planes)}, threads, 0,
                         t);
  };
  const bool is_large = static_cast<long>(t.nx) * t.ny * t.nz >= 4'000'000, is_wide = t.nx % 64 == 0;
  if (is_large) return launch(update_kernel<8, 2, 256, 4>, 8, 32, 8);
  launch(update_kernel<6, 1, 128, 10>, 6, is_wide ? 32 : 16, is_wide ? 4 : 8);
}
