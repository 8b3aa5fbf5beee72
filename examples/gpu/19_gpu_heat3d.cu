// The kernel of 19_gpu_heat3d.cc: two cells in x for each thread, which marches in z.
#include "19_gpu_heat3d.h"

#include <imbrex/device/cuda/kernel_batch.h>

namespace {

constexpr int planes = 8;

__device__ double2 pair_at(const double* p) { return *reinterpret_cast<const double2*>(p); }
__device__ void put(double* p, const double2& v) { *reinterpret_cast<double2*>(p) = v; }

/// Of so many planes at once the loads come first: faster where blocks are large, slower where many are small.
template <int at_once>
__global__ void __launch_bounds__(256, at_once > 1 ? 4 : 5)
    update_kernel(const __grid_constant__ imbrex::kernel_batch<sweep> all) {
  const sweep& t = all.arguments();  // of one of the blocks that this launch is for
  const dim3 block = all.block();
  const int x = 2 * static_cast<int>(block.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(block.y * blockDim.y + threadIdx.y);
  const int z0 = static_cast<int>(block.z) * planes, z1 = min(z0 + planes, t.nz);
  const int nx = t.nx, ny = t.ny, nz = t.nz, plane = nx * ny, in_plane = y * nx + x;
  if (x >= nx || y >= ny) return;
  const double* __restrict__ now = t.now;
  const auto halo_pair = [&](side f, int k) {
    return t.halo[f] != nullptr ? pair_at(t.halo[f] + k) : make_double2(0, 0);
  };
  const auto halo = [&](side f, int k) { return t.halo[f] != nullptr ? t.halo[f][k] : 0.0; };
  long i = static_cast<long>(z0) * plane + in_plane;
  double2 below = z0 > 0 ? pair_at(now + i - plane) : halo_pair(bottom, in_plane), here = pair_at(now + i);
  for (int first = z0; first < z1; first += at_once) {
    double2 s[at_once], n[at_once], above[at_once];
    double w[at_once], e[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const int z = min(first + k, nz - 1);
      const long j = i + static_cast<long>(z - first) * plane;
      above[k] = z < nz - 1 ? pair_at(now + j + plane) : halo_pair(top, in_plane);
      w[k] = x > 0 ? now[j - 1] : halo(west, z * ny + y);
      e[k] = x + 2 < nx ? now[j + 2] : halo(east, z * ny + y);
      s[k] = y > 0 ? pair_at(now + j - nx) : halo_pair(south, z * nx + x);
      n[k] = y < ny - 1 ? pair_at(now + j + nx) : halo_pair(north, z * nx + x);
    }
#pragma unroll
    for (int k = 0; k < at_once; ++k, i += plane) {
      const int z = first + k;
      if (z >= z1) break;
      const double2 v = {(here.x + w[k] + here.y + s[k].x + n[k].x + below.x + above[k].x) * (1.0 / 7),
                         (here.y + here.x + e[k] + s[k].y + n[k].y + below.y + above[k].y) * (1.0 / 7)};
      put(t.next + i, v);
      if (x == 0 && t.edge[west] != nullptr) t.edge[west][z * ny + y] = v.x;
      if (x + 2 >= nx && t.edge[east] != nullptr) t.edge[east][z * ny + y] = v.y;
      if (y == 0 && t.edge[south] != nullptr) put(t.edge[south] + z * nx + x, v);
      if (y == ny - 1 && t.edge[north] != nullptr) put(t.edge[north] + z * nx + x, v);
      if (z == 0 && t.edge[bottom] != nullptr) put(t.edge[bottom] + in_plane, v);
      if (z == nz - 1 && t.edge[top] != nullptr) put(t.edge[top] + in_plane, v);
      below = here;
      here = above[k];
    }
  }
}

}  // namespace

void gpu_update(imbrex::stream& s, const sweep& t) {
  const auto number = [](int n, int each) { return static_cast<unsigned>((n + each - 1) / each); };
  const dim3 threads(32, 8), blocks(number(t.nx, 64), number(t.ny, 8), number(t.nz, planes));
  const bool is_large = static_cast<long>(t.nx) * t.ny * t.nz >= 1'000'000;
  imbrex::launch_batch(s, "update", is_large ? update_kernel<2> : update_kernel<1>, blocks, threads, 0, t);
}
