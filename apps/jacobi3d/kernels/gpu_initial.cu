#include "imbrex/device/cuda/cuda_launch.h"
#include "kernels/gpu_kernels.h"
#include "kernels/gpu_rows.cuh"

namespace jacobi {
namespace {

/// Sets every cell to `value(x, y, z)`, counted within the block.
template <class Value>
__global__ void __launch_bounds__(gpu::row_threads) set_kernel(gpu_layout layout, double* field, Value value) {
  gpu::for_each_row(layout, [&](std::int64_t at, std::int64_t y, std::int64_t z) {
    for (std::int64_t x = threadIdx.x % 32; x < layout.size.nx; x += 32) field[at + x] = value(x, y, z);
  });
}

template <class Value>
void set(imbrex::stream& s, const char* name, const gpu_layout& layout, double* field, Value value) {
  imbrex::expect(s, {layout.bytes(1)});
  imbrex::launch(s, name, set_kernel<Value>, dim3(gpu::blocks_for_rows(layout)), dim3(gpu::row_threads), 0, layout,
                 field, value);
}

struct hot_face {
  std::int64_t z0;
  __device__ __forceinline__ double operator()(std::int64_t, std::int64_t, std::int64_t z) const {
    return z0 + z == 0 ? 1.0 : 0.0;
  }
};

struct random_values {
  extents grid;
  box cells;
  unsigned long long seed;
  __device__ __forceinline__ double operator()(std::int64_t x, std::int64_t y, std::int64_t z) const {
    const std::int64_t cell = ((cells.z0 + z) * grid.ny + cells.y0 + y) * grid.nx + cells.x0 + x;
    const unsigned long long bits = gpu::mixed(seed ^ gpu::mixed(static_cast<unsigned long long>(cell)));
    return __dmul_rn(static_cast<double>(bits >> 11), 0x1p-53);
  }
};

struct product {
  const double *of_x, *of_y, *of_z;
  __device__ __forceinline__ double operator()(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return __dmul_rn(__dmul_rn(of_x[x], of_y[y]), of_z[z]);
  }
};

}  // namespace

void gpu_set_hot_face(imbrex::stream& s, const gpu_layout& layout, double* field, const box& cells) {
  set(s, "jacobi hot face", layout, field, hot_face{cells.z0});
}

void gpu_set_random(imbrex::stream& s, const gpu_layout& layout, double* field, extents grid, const box& cells,
                    std::uint64_t seed) {
  set(s, "jacobi random values", layout, field, random_values{grid, cells, seed});
}

void gpu_set_product(imbrex::stream& s, const gpu_layout& layout, double* field, const double* of_x, const double* of_y,
                     const double* of_z) {
  set(s, "jacobi products", layout, field, product{of_x, of_y, of_z});
}

}  // namespace jacobi
