#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "kernels/gpu_stencil.cuh"
#include "kernels/gpu_tiles.h"

/// The fields that the kernel benchmark works on, the simplest kernel that it compares with, and its clock.
namespace jacobi::bench {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

static __global__ void fill_kernel(double* data, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    std::uint64_t h = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15ULL;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
    data[i] = static_cast<double>(h >> 11) * 0x1p-53;
  }
}

static __global__ void copy_kernel(const double2* __restrict__ from, double2* __restrict__ to, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}

static __global__ void simplest_kernel(gpu_layout l, stencil formula, const double* in, double* out) {
  const std::int64_t x = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  if (x >= l.size.nx) return;
  const double* c = in + l.index(x, y, z);
  out[l.index(x, y, z)] =
      gpu::updated<false>(formula, c[0], c[-1], c[1], c[-l.pitch], c[l.pitch], c[-l.plane], c[l.plane]);
}

static __global__ void compare_kernel(gpu_layout l, const double* a, const double* b, unsigned long long* differing) {
  const std::int64_t x = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  if (x >= l.size.nx) return;
  const std::int64_t i = l.index(x, y, z);
  if (__double_as_longlong(a[i]) != __double_as_longlong(b[i])) atomicAdd(differing, 1ull);
}

/// Enqueues iteration i: from field i % 2 to the other.
using iteration = std::function<void(int i)>;

/// The ghosts on the x faces, which `gpu_ends` says to be 0.
__global__ void zero_ends_kernel(gpu_layout layout, double* field) {
  field[layout.index(-1, blockIdx.x, blockIdx.y)] = 0.0;
  field[layout.index(layout.size.nx, blockIdx.x, blockIdx.y)] = 0.0;
}

struct variant {
  std::string kernel, details;
  iteration run;
  double us = 0.0;
};

struct problem {
  gpu_layout layout;
  double* fields[2] = {};
  double* expected = nullptr;
  unsigned long long* differing = nullptr;

  dim3 cell_grid() const {
    const extents& n = layout.size;
    return dim3(static_cast<unsigned>((n.nx + 127) / 128), static_cast<unsigned>(n.ny), static_cast<unsigned>(n.nz));
  }
};

template <class T>
T* allocate(std::int64_t count) {
  void* p = nullptr;
  check(cudaMalloc(&p, static_cast<std::size_t>(count) * sizeof(T)), "cudaMalloc");
  return static_cast<T*>(p);
}

inline problem make(extents size) {
  problem p;
  p.layout = gpu_layout::of(size);
  for (double** f : {&p.fields[0], &p.fields[1], &p.expected}) *f = allocate<double>(p.layout.doubles());
  p.differing = allocate<unsigned long long>(1);
  fill_kernel<<<2048, 256>>>(p.fields[0], p.layout.doubles());
  fill_kernel<<<2048, 256>>>(p.fields[1], p.layout.doubles());
  for (double* f : p.fields) zero_ends_kernel<<<dim3(static_cast<unsigned>(size.ny), static_cast<unsigned>(size.nz)), 1>>>(p.layout, f);
  simplest_kernel<<<p.cell_grid(), 128>>>(p.layout, stencil{}, p.fields[0], p.expected);
  check(cudaDeviceSynchronize(), "the simplest kernel");
  return p;
}

inline void destroy(problem& p) {
  std::vector<void*> all{p.fields[0], p.fields[1], p.expected, p.differing};
  for (void* m : all) check(cudaFree(m), "cudaFree");
}

/// While field 0 is as `make` left it.
inline bool correct(const problem& p, const variant& v) {
  check(cudaMemset(p.fields[1], 0xff, static_cast<std::size_t>(p.layout.doubles()) * sizeof(double)), "cudaMemset");
  check(cudaMemset(p.differing, 0, sizeof(*p.differing)), "cudaMemset");
  v.run(0);
  compare_kernel<<<p.cell_grid(), 128>>>(p.layout, p.fields[1], p.expected, p.differing);
  unsigned long long differing = 0;
  check(cudaMemcpy(&differing, p.differing, sizeof(differing), cudaMemcpyDeviceToHost), v.kernel.c_str());
  if (differing != 0) std::printf("WRONG: %s, %s: %llu cells differ\n", v.kernel.c_str(), v.details.c_str(), differing);
  return differing == 0;
}

/// Median microseconds of one iteration.
inline double microseconds(const iteration& run, int iterations, int repeats) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<double> times;
  for (int r = 0; r < repeats; ++r) {
    run(0);
    run(1);
    check(cudaEventRecord(begin), "cudaEventRecord");
    for (int i = 0; i < iterations; ++i) run(i);
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), "an iteration");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    times.push_back(ms * 1e3 / iterations);
  }
  check(cudaEventDestroy(begin), "cudaEventDestroy");
  check(cudaEventDestroy(end), "cudaEventDestroy");
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<std::size_t>(repeats / 2)];
}

}  // namespace jacobi::bench
