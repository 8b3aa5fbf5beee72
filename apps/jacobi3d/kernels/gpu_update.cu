#include <algorithm>

#include "imbrex/device/cuda/cuda_launch.h"
#include "kernels/gpu_kernels.h"
#include "kernels/gpu_update.cuh"

namespace jacobi {
namespace {

using gpu::update_task;

/// The cells on one side: those next to cell (a, b) of the ghost face.
struct shell_task {
  gpu::field_view field;
  stencil formula;
  int nx = 0, ny = 0, nz = 0;
};

/// One thread for each cell of each face, the face being the grid's y. Cells on edges are updated more than once, to
/// the same value.
template <bool weighted>
__global__ void __launch_bounds__(256) shell_kernel(const __grid_constant__ shell_task t) {
  const unsigned f = blockIdx.y, axis = f / 2;
  const unsigned num_a = axis == 0 ? t.ny : t.nx, num_b = axis == 2 ? t.ny : t.nz;
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= std::uint64_t{num_a} * num_b) return;
  const std::int64_t a = static_cast<unsigned>(i) % num_a, b = static_cast<unsigned>(i) / num_a;
  const bool high = (f & 1u) != 0;
  const std::int64_t x = axis == 0 ? (high ? t.nx - 1 : 0) : a;
  const std::int64_t y = axis == 0 ? a : axis == 1 ? (high ? t.ny - 1 : 0) : b;
  const std::int64_t z = axis == 2 ? (high ? t.nz - 1 : 0) : b;
  const std::int64_t at = z * t.field.plane + y * t.field.pitch + x;
  const double* c = t.field.in + at;
  const std::int64_t pitch = t.field.pitch, plane = t.field.plane;
  t.field.out[at] = gpu::updated<weighted>(t.formula, __ldg(c), __ldg(c - 1), __ldg(c + 1), __ldg(c - pitch),
                                           __ldg(c + pitch), __ldg(c - plane), __ldg(c + plane));
}

template <class Shape>
auto choose_kernel(bool weighted) {
  return weighted ? gpu::update_kernel<Shape, true> : gpu::update_kernel<Shape, false>;
}

void update(imbrex::stream& s, const gpu_layout& layout, update_task t) {
  if (t.x0 >= t.x1 || t.y0 >= t.y1 || t.z0 >= t.z1) return;
  const extents cells{t.x1 - (t.x0 & ~1), t.y1 - t.y0, t.z1 - t.z0};
  t.nx = static_cast<int>(layout.size.nx);
  t.tiling = gpu_tiling::of(cells, gpu_cut::of(cells.cells()));
  t.backwards = t.backwards && t.tiling.cut.alternating;
  const auto kernel = t.tiling.cut.beyond_cache ? choose_kernel<gpu::beyond_cache>(t.formula.weighted)
                                                : choose_kernel<gpu::near_cache>(t.formula.weighted);
  imbrex::expect(s, {2.0 * sizeof(double) * static_cast<double>(cells.cells())});
  imbrex::launch(s, "jacobi update", kernel, dim3(static_cast<unsigned>(t.tiling.total())),
                 dim3(gpu::near_cache::columns, gpu::near_cache::rows), 0, t);
}

}  // namespace

void gpu_update_box(imbrex::stream& s, const gpu_layout& layout, stencil formula, const double* in, double* out,
                    std::int64_t x0, std::int64_t x1, std::int64_t y0, std::int64_t y1, std::int64_t z0,
                    std::int64_t z1) {
  update_task t;
  t.field = gpu::view(layout, in, out);
  t.formula = formula;
  t.x0 = static_cast<int>(x0);
  t.x1 = static_cast<int>(x1);
  t.y0 = static_cast<int>(y0);
  t.y1 = static_cast<int>(y1);
  t.z0 = static_cast<int>(z0);
  t.z1 = static_cast<int>(z1);
  update(s, layout, t);
}

void gpu_update(imbrex::stream& s, const gpu_layout& layout, stencil formula, gpu_ends ends, const double* in,
                double* out, bool backwards) {
  const extents& n = layout.size;
  update_task t;
  t.field = gpu::view(layout, in, out, ends);
  t.formula = formula;
  t.x1 = static_cast<int>(n.nx);
  t.y1 = static_cast<int>(n.ny);
  t.z1 = static_cast<int>(n.nz);
  t.backwards = backwards;
  update(s, layout, t);
}

void gpu_update_interior(imbrex::stream& s, const gpu_layout& layout, stencil formula, const double* in, double* out) {
  const extents& n = layout.size;
  gpu_update_box(s, layout, formula, in, out, 1, n.nx - 1, 1, n.ny - 1, 1, n.nz - 1);
}

void gpu_update_exterior(imbrex::stream& s, const gpu_layout& layout, stencil formula, const double* in, double* out) {
  const extents& n = layout.size;
  const shell_task t{gpu::view(layout, in, out), formula, static_cast<int>(n.nx), static_cast<int>(n.ny),
                     static_cast<int>(n.nz)};
  const std::int64_t most = std::max({n.nx * n.ny, n.nx * n.nz, n.ny * n.nz});
  imbrex::expect(s, {4.0 * sizeof(double) * static_cast<double>(n.nx * n.ny + n.nx * n.nz + n.ny * n.nz)});
  imbrex::launch(s, "jacobi exterior", formula.weighted ? shell_kernel<true> : shell_kernel<false>,
                 dim3(static_cast<unsigned>((most + 255) / 256), num_faces), dim3(256), 0, t);
}

}  // namespace jacobi
