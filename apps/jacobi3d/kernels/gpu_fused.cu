#include "imbrex/device/cuda/cuda_launch.h"
#include "kernels/gpu_halo_store.cuh"
#include "kernels/gpu_kernels.h"
#include "kernels/gpu_update.cuh"

namespace jacobi {
namespace {

using gpu::cell_pair;

constexpr int columns = gpu::near_cache::columns, rows = gpu::near_cache::rows;

/// Halo buffers to write to.
struct halo_buffers {
  static constexpr bool pairs = false;
  double* const* buffers = nullptr;
  std::int64_t nx = 0, ny = 0;

  __device__ __forceinline__ double* at(face f, std::int64_t a, std::int64_t b) const {
    return buffers[static_cast<int>(f)] + b * (f == face::xlo || f == face::xhi ? ny : nx) + a;
  }
};

struct fused_task {
  gpu::update_task update;
  const double* in[num_faces] = {};
  double* out[num_faces] = {};
  unsigned in_faces = 0, out_faces = 0;  ///< bits: where those are not null

  __device__ __forceinline__ const double* halo(face f) const { return in[static_cast<int>(f)]; }
};

/// The faces in which a tile has cells.
__device__ __forceinline__ unsigned faces_of(const gpu::update_task& t, int x, int y, int z) {
  return (x == 0 ? 1u : 0u) | (x + 2 * columns >= t.x1 ? 2u : 0u) | (y == 0 ? 4u : 0u) | (y + rows >= t.y1 ? 8u : 0u) |
         (z == 0 ? 16u : 0u) | (z + t.tiling.cut.depth >= t.z1 ? 32u : 0u);
}

/// The values next to a pair on one side: of the field, or where the block ends (`outside`) those of cells a and a + 1
/// in row b of the halo, if there is one.
__device__ __forceinline__ double2 beside(const double* field, const double* halo, bool outside, const cell_pair& p,
                                          std::int64_t b, int nx) {
  if (!outside || halo == nullptr) return gpu::load_pair(field);
  const double* at = halo + b * nx + p.x;
  return {p.lo ? __ldg(at) : 0.0, p.hi ? __ldg(at + 1) : 0.0};
}

/// `march` for tiles on the block's surface: the same, with halos in the place of ghosts.
template <bool weighted>
__device__ __forceinline__ void march_with_halos(const fused_task& t, const cell_pair& p, int z0, int z1,
                                                 const gpu::halo_store<halo_buffers>& sink) {
  const gpu::field_view& f = t.update.field;
  const stencil formula = t.update.formula;
  const int nx = t.update.x1, ny = t.update.y1, nz = t.update.z1;
  const std::int64_t first = z0 * f.plane + p.y * f.pitch + p.x;
  const double* at = f.in + first;
  double* result = f.out + first;
  double2 below = beside(at - f.plane, t.halo(face::zlo), z0 == 0, p, p.y, nx);
  double2 here = gpu::load_pair(at);
#pragma unroll 1
  for (int z = z0; z < z1; ++z, at += f.plane, result += f.plane) {
    const double2 above = beside(at + f.plane, t.halo(face::zhi), z == nz - 1, p, p.y, nx);
    const double2 south = beside(at - f.pitch, t.halo(face::ylo), p.y == 0, p, z, nx);
    const double2 north = beside(at + f.pitch, t.halo(face::yhi), p.y == ny - 1, p, z, nx);
    double left = __ldg(at - 1);
    double right = __ldg(at + 2);
    double second = here.y;
    const std::int64_t row = std::int64_t{z} * ny + p.y;
    if (t.halo(face::xlo) != nullptr && p.x == 0) left = __ldg(t.halo(face::xlo) + row);
    if (t.halo(face::xhi) != nullptr) {
      if (p.x == nx - 1) second = __ldg(t.halo(face::xhi) + row);
      if (p.x == nx - 2) right = __ldg(t.halo(face::xhi) + row);
    }
    double2 value;
    value.x = gpu::updated<weighted>(formula, here.x, left, second, south.x, north.x, below.x, above.x);
    value.y = gpu::updated<weighted>(formula, second, here.x, right, south.y, north.y, below.y, above.y);
    gpu::store_pair(result, value, p);
    sink(p, z, value);
    below = here;
    here = above;
  }
}

template <class Shape, bool weighted>
__global__ void __launch_bounds__(Shape::threads, Shape::resident) fused_kernel(const __grid_constant__ fused_task t) {
  const gpu::update_task& u = t.update;
  const gpu_tiling::place tile = u.tile();
  const int z1 = min(tile.z + u.tiling.cut.depth, u.z1);
  cell_pair p;
  if (!gpu::place(p, tile.x, tile.y, 0, u.x1, u.y1, u.nx)) return;
  const unsigned faces = faces_of(u, tile.x, tile.y, tile.z);
  if ((faces & (t.in_faces | t.out_faces)) == 0) {
    gpu::march<Shape, weighted>(u.field, u.formula, p, tile.z, z1, gpu::no_sink{});
  } else {
    const gpu::halo_store<halo_buffers> sink{{t.out, u.x1, u.y1}, faces & t.out_faces, u.x1, u.y1, u.z1};
    march_with_halos<weighted>(t, p, tile.z, z1, sink);
  }
}

template <class Shape>
auto choose_kernel(bool weighted) {
  return weighted ? fused_kernel<Shape, true> : fused_kernel<Shape, false>;
}

}  // namespace

void gpu_update_fused(imbrex::stream& s, const gpu_layout& layout, stencil formula, gpu_ends ends, const double* in,
                      double* out, const const_face_buffers& halos_in, const face_buffers& halos_out, bool backwards) {
  const extents& n = layout.size;
  fused_task t;
  t.update.field = gpu::view(layout, in, out, ends);
  t.update.formula = formula;
  t.update.x1 = t.update.nx = static_cast<int>(n.nx);
  t.update.y1 = static_cast<int>(n.ny);
  t.update.z1 = static_cast<int>(n.nz);
  t.update.tiling = gpu_tiling::of(n, gpu_cut::of(n.cells()));
  t.update.backwards = backwards && t.update.tiling.cut.alternating;
  for (int f = 0; f < num_faces; ++f) {
    t.in[f] = halos_in[f];
    t.out[f] = halos_out[f];
    t.in_faces |= halos_in[f] != nullptr ? 1u << f : 0u;
    t.out_faces |= halos_out[f] != nullptr ? 1u << f : 0u;
  }
  const auto kernel = t.update.tiling.cut.beyond_cache ? choose_kernel<gpu::beyond_cache>(formula.weighted)
                                                       : choose_kernel<gpu::near_cache>(formula.weighted);
  double bytes = layout.bytes(2);
  for (int f = 0; f < num_faces; ++f) {
    const int passes = (halos_in[f] != nullptr ? 1 : 0) + (halos_out[f] != nullptr ? 1 : 0);
    bytes += passes * static_cast<double>(face_cells(n, static_cast<face>(f))) * sizeof(double);
  }
  imbrex::expect(s, {bytes});
  imbrex::launch(s, "jacobi fused update", kernel, dim3(static_cast<unsigned>(t.update.tiling.total())),
                 dim3(columns, rows), 0, t);
}

}  // namespace jacobi
