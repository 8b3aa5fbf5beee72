// The kernels of one_source.hk by hand, as one would write them for CUDA.
#include <imbrex/device/cuda/cuda_launch.h>

#include "one_source/by_hand.h"

namespace {

constexpr int tile = 32, rows = 8;

__global__ void __launch_bounds__(256) axpy(int n, double f, const double* __restrict__ x, double* __restrict__ y) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] += f * x[i];
}

__global__ void __launch_bounds__(256) transpose(int n, const double* __restrict__ from, double* __restrict__ to) {
  __shared__ double t[tile][tile + 1];
  int x = static_cast<int>(blockIdx.x * tile + threadIdx.x), y = static_cast<int>(blockIdx.y * tile + threadIdx.y);
#pragma unroll
  for (int k = 0; k < tile; k += rows) t[threadIdx.y + k][threadIdx.x] = from[(y + k) * n + x];
  __syncthreads();
  x = static_cast<int>(blockIdx.y * tile + threadIdx.x);
  y = static_cast<int>(blockIdx.x * tile + threadIdx.y);
#pragma unroll
  for (int k = 0; k < tile; k += rows) to[(y + k) * n + x] = t[threadIdx.x][threadIdx.y + k];
}

__global__ void __launch_bounds__(256)
    spmv(int n, const int* __restrict__ first, const int* __restrict__ column, const double* __restrict__ value,
         const double* __restrict__ x, double* __restrict__ y) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= n) return;
  double sum = 0;
  const int end = first[row + 1];
  for (int k = first[row]; k < end; ++k) sum += value[k] * x[column[k]];
  y[row] = sum;
}

__device__ __forceinline__ double2 pair(const double* p) { return __ldg(reinterpret_cast<const double2*>(p)); }

__global__ void __launch_bounds__(256)
    stencil(int nx, int ny, int nz, int pitch, int planes, const double* __restrict__ in, double* __restrict__ out) {
  const int x = 2 * static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const int first = static_cast<int>(blockIdx.z) * planes, end = min(first + planes, nz), plane = pitch * (ny + 2);
  if (x >= nx || y >= ny) return;
  const long at = static_cast<long>(first + 1) * plane + (y + 1) * pitch + 16 + x;
  const double* c = in + at;
  double* o = out + at;
  double2 below = pair(c - plane), here = pair(c);
  for (int z = first; z < end; ++z, c += plane, o += plane) {
    const double2 above = pair(c + plane), south = pair(c - pitch), north = pair(c + pitch);
    const double west = __ldg(c - 1), east = __ldg(c + 2);
    double2 v;
    v.x = (here.x + west + here.y + south.x + north.x + below.x + above.x) * (1.0 / 7.0);
    v.y = (here.y + here.x + east + south.y + north.y + below.y + above.y) * (1.0 / 7.0);
    *reinterpret_cast<double2*>(o) = v;
    below = here;
    here = above;
  }
}

__global__ void __launch_bounds__(256)
    forces(int n, double cutoff2, const double* __restrict__ place, const int* __restrict__ list,
           const int* __restrict__ neighbours, double* __restrict__ force) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const double2 xy = pair(place + 4 * i);
  const double z = place[4 * i + 2];
  double fx = 0, fy = 0, fz = 0;
  const int num = neighbours[i];
  for (int k = 0; k < num; ++k) {
    const int j = list[k * n + i];
    const double2 there = pair(place + 4 * j);
    const double dx = xy.x - there.x, dy = xy.y - there.y, dz = z - place[4 * j + 2];
    const double r2 = dx * dx + dy * dy + dz * dz;
    if (r2 < cutoff2) {
      const double s = 1.0 / r2, s6 = s * s * s, f = 48.0 * s6 * (s6 - 0.5) * s;
      fx += dx * f;
      fy += dy * f;
      fz += dz * f;
    }
  }
  *reinterpret_cast<double2*>(force + 4 * i) = make_double2(fx, fy);
  force[4 * i + 2] = fz;
}

unsigned of(int n, int each) { return static_cast<unsigned>((n + each - 1) / each); }

}  // namespace

void cuda_axpy(imbrex::stream& s, int n, double f, const double* x, double* y) {
  imbrex::launch(s, "axpy", axpy, of(n, 256), 256, 0, n, f, x, y);
}
void cuda_transpose(imbrex::stream& s, int n, const double* from, double* to) {
  imbrex::launch(s, "transpose", transpose, dim3(of(n, tile), of(n, tile)), dim3(tile, rows), 0, n, from, to);
}
void cuda_spmv(imbrex::stream& s, int n, const int* first, const int* column, const double* value, const double* x,
               double* y) {
  imbrex::launch(s, "spmv", spmv, of(n, 256), 256, 0, n, first, column, value, x, y);
}
void cuda_stencil(imbrex::stream& s, int nx, int ny, int nz, int pitch, int planes, const double* in, double* out) {
  imbrex::launch(s, "stencil", stencil, dim3(of(nx, 64), of(ny, 8), of(nz, planes)), dim3(32, 8), 0, nx, ny, nz, pitch,
                 planes, in, out);
}
void cuda_forces(imbrex::stream& s, int n, double cutoff2, const double* place, const int* list, const int* neighbours,
                 double* force) {
  imbrex::launch(s, "forces", forces, of(n, 256), 256, 0, n, cutoff2, place, list, neighbours, force);
}
