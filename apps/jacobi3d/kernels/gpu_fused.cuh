#pragma once

#include "imbrex/device/cuda/kernel_batch.h"
#include "kernels/gpu_stencil.cuh"

/// Device code of the kernels that read halos, update and write what neighbours get.
namespace jacobi::gpu {

/// What one block's update reads and writes, without gaps between: repeated rounds are compared byte by byte.
struct fused_task {
  int nx, ny, nz;
  int pitch, plane, depth;
  const double* in;  ///< cell (0, 0, 0)
  double* out;
  double outside, alpha, beta;
  const double* halo[num_faces];
  double* edge[num_faces];
  gpu_tiling tiling;               ///< of large blocks
  int first_of_face[num_faces];    ///< the thread blocks of a face, by the first of them ...
  int num_of_faces;                ///< ... and of all
  unsigned halos;                  ///< bits: where there is one
  int backwards, x_fixed;          ///< as gpu_update's; as gpu_ends::fixed
};

/// What lies beyond the block: in halos, and without those `outside`.
template <bool is_even>
struct beyond_block {
  const fused_task& t;
  bool both;  ///< the pair's second cell is in the block

  __device__ __forceinline__ double cell(face f, int k) const {
    const double* const h = t.halo[static_cast<int>(f)];
    return h != nullptr ? h[k] : t.outside;
  }
  __device__ __forceinline__ double2 pair(face f, int k) const {
    const double* const h = t.halo[static_cast<int>(f)];
    if (h == nullptr) return {t.outside, t.outside};
    if (is_even) return *reinterpret_cast<const double2*>(h + k);
    return {h[k], both ? h[k + 1] : 0.0};
  }
};

/// Where the new cells along a block's sides go. What is given beside the task was read from it before: after a store it
/// would be read again.
template <bool is_even>
struct edge_store {
  __device__ __forceinline__ void operator()(const fused_task& t, int nx, int ny, int nz, bool both, int x, int y, int z,
                                             const double2& v) const {
    if (x == 0 && t.edge[0] != nullptr) t.edge[0][z * ny + y] = v.x;
    if (x + 2 >= nx && t.edge[1] != nullptr) t.edge[1][z * ny + y] = both ? v.y : v.x;
    if (y == 0) put(t.edge[2], z * nx + x, both, v);
    if (y == ny - 1) put(t.edge[3], z * nx + x, both, v);
    if (z == 0) put(t.edge[4], y * nx + x, both, v);
    if (z == nz - 1) put(t.edge[5], y * nx + x, both, v);
  }
  __device__ __forceinline__ void put(double* e, int k, bool both, const double2& v) const {
    if (e == nullptr) return;
    if (is_even) {
      *reinterpret_cast<double2*>(e + k) = v;
      return;
    }
    e[k] = v.x;
    if (both) e[k + 1] = v.y;
  }
};
struct no_edges {
  __device__ __forceinline__ void operator()(const fused_task&, int, int, int, bool, int, int, int,
                                             const double2&) const {}
};

/// Updates the pair (x, y) in planes z0 <= z < z1, of which `at_once` are loaded before they are computed. With an odd
/// number of cells in a row (not `is_even`) the last pair is one cell.
template <int at_once, bool is_even, bool weighted, class Edges>
__device__ __forceinline__ void march_beside_halos(const fused_task& t, int x, int y, int z0, int z1,
                                                   const Edges& edges) {
  const int nx = t.nx, ny = t.ny, nz = t.nz, plane = t.plane, pitch = t.pitch;
  const double* __restrict__ in = t.in;
  const bool both = is_even || x + 1 < nx;
  const stencil formula{weighted, t.alpha, t.beta};
  const beyond_block<is_even> halo{t, both};
  const auto pair = [&](long i) { return *reinterpret_cast<const double2*>(in + i); };
  long i = static_cast<long>(z0) * plane + static_cast<long>(y) * pitch + x;
  double2 below = z0 > 0 ? pair(i - plane) : halo.pair(face::zlo, y * nx + x), here = pair(i);
  for (int first = z0; first < z1; first += at_once) {
    double2 south[at_once], north[at_once], above[at_once];
    double west[at_once], east[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const int z = at_once > 1 ? min(first + k, nz - 1) : first;
      const long j = i + static_cast<long>(z - first) * plane;
      above[k] = z < nz - 1 ? pair(j + plane) : halo.pair(face::zhi, y * nx + x);
      west[k] = x > 0 ? in[j - 1] : halo.cell(face::xlo, z * ny + y);
      east[k] = x + 2 < nx ? in[j + 2] : halo.cell(face::xhi, z * ny + y);
      south[k] = y > 0 ? pair(j - pitch) : halo.pair(face::ylo, z * nx + x);
      north[k] = y < ny - 1 ? pair(j + pitch) : halo.pair(face::yhi, z * nx + x);
    }
#pragma unroll
    for (int k = 0; k < at_once; ++k, i += plane) {
      const int z = first + k;
      if (z >= z1) break;
      const double second = both ? here.y : east[k];
      const double2 v = {updated<weighted>(formula, here.x, west[k], second, south[k].x, north[k].x, below.x, above[k].x),
                         updated<weighted>(formula, here.y, here.x, east[k], south[k].y, north[k].y, below.y, above[k].y)};
      if (both) {
        *reinterpret_cast<double2*>(t.out + i) = v;
      } else {
        t.out[i] = v.x;
      }
      edges(t, nx, ny, nz, both, x, y, z, v);
      below = here;
      here = above[k];
    }
  }
}

// In the kernels below registers are bounded so that nothing is spilled (one that spills takes half as long again), and
// arguments that came with the launch are read where they are: that from memory instead takes a tenth longer.

/// Small blocks, most of whose cells are near a side.
struct small_block {
  static constexpr int threads = 128, resident = 9, depth = 6;
};
template <bool is_even, bool weighted>
__global__ void __launch_bounds__(small_block::threads, small_block::resident)
    small_block_kernel(const __grid_constant__ imbrex::kernel_batch<fused_task> all) {
  all.visit([&](const fused_task& t, const dim3& block) {
    const int x = 2 * static_cast<int>(block.x * blockDim.x + threadIdx.x);
    const int y = static_cast<int>(block.y * blockDim.y + threadIdx.y), z0 = static_cast<int>(block.z) * t.depth;
    if (x >= t.nx || y >= t.ny) return;
    march_beside_halos<1, is_even, weighted>(t, x, y, z0, min(z0 + t.depth, t.nz), edge_store<is_even>{});
  });
}

/// The share of one thread block of what neighbours get: cells of a face, updated once more than by the tiles that hold
/// them. This costs a fraction of surface to volume, and keeps the tiles free of branches.
inline constexpr int cells_of_face_block = 1024;
template <bool weighted>
__device__ __forceinline__ void update_face(const fused_task& t, int number) {
  int f = num_faces - 1;
  while (number < t.first_of_face[f]) --f;
  double* const edge = t.edge[f];
  if (edge == nullptr) return;
  const face side = static_cast<face>(f);
  const bool on_x = side == face::xlo || side == face::xhi, on_z = side == face::zlo || side == face::zhi;
  const int nx = t.nx, ny = t.ny, nz = t.nz;
  const auto num_a = static_cast<std::uint32_t>(on_x ? ny : nx), num_b = static_cast<std::uint32_t>(on_z ? ny : nz);
  const auto begin = static_cast<std::uint32_t>(number - t.first_of_face[f]) * cells_of_face_block;
  const std::uint32_t end = min(num_a * num_b, begin + cells_of_face_block);
  const beyond_block<true> halo{t, true};
  const stencil formula{weighted, t.alpha, t.beta};
  for (std::uint32_t i = begin + threadIdx.y * blockDim.x + threadIdx.x; i < end; i += blockDim.x * blockDim.y) {
    const auto b = static_cast<int>(i / num_a), a = static_cast<int>(i - i / num_a * num_a);
    const int x = side == face::xlo ? 0 : side == face::xhi ? nx - 1 : a;
    const int y = side == face::ylo ? 0 : side == face::yhi ? ny - 1 : on_x ? a : b;
    const int z = side == face::zlo ? 0 : side == face::zhi ? nz - 1 : b;
    const double* const c = t.in + static_cast<long>(z) * t.plane + static_cast<long>(y) * t.pitch + x;
    const double west = x > 0 ? __ldg(c - 1) : halo.cell(face::xlo, z * ny + y);
    const double east = x < nx - 1 ? __ldg(c + 1) : halo.cell(face::xhi, z * ny + y);
    const double south = y > 0 ? __ldg(c - t.pitch) : halo.cell(face::ylo, z * nx + x);
    const double north = y < ny - 1 ? __ldg(c + t.pitch) : halo.cell(face::yhi, z * nx + x);
    const double below = z > 0 ? __ldg(c - t.plane) : halo.cell(face::zlo, y * nx + x);
    const double above = z < nz - 1 ? __ldg(c + t.plane) : halo.cell(face::zhi, y * nx + x);
    edge[i] = updated<weighted>(formula, __ldg(c), west, east, south, north, below, above);
  }
}

/// The faces in which a tile has cells.
__device__ __forceinline__ unsigned faces_of(const fused_task& t, const gpu_tiling::place& at) {
  return (at.x == 0 ? 1u : 0u) | (at.x + gpu_tiling::cells >= t.nx ? 2u : 0u) | (at.y == 0 ? 4u : 0u) |
         (at.y + gpu_tiling::rows >= t.ny ? 8u : 0u) | (at.z == 0 ? 16u : 0u) |
         (at.z + t.depth >= t.nz ? 32u : 0u);
}

/// Larger blocks, by how their fields compare with the L2 cache. Where the faces' thread blocks come first, what goes to
/// peers is on its way while the tiles are updated; that costs what bounds blocks near the cache. Where tiles march,
/// only those that have halos look for them.
struct block_in_cache {
  static constexpr bool faces_first = true, marches = false;
};
struct block_near_cache {
  static constexpr bool faces_first = false, marches = false;
};
struct block_beyond_cache {
  static constexpr bool faces_first = true, marches = true;
};

template <class Block, bool is_even, bool weighted>
__global__ void __launch_bounds__(beyond_cache::threads, beyond_cache::resident)
    large_block_kernel(const __grid_constant__ imbrex::kernel_batch<fused_task> all) {
  constexpr int planes_beside_halos = !Block::marches && is_even && !weighted ? 2 : 1;
  all.visit([&](const fused_task& t, const dim3& of_launch) {
    const auto block = static_cast<int>(of_launch.x);
    if constexpr (Block::faces_first) {
      if (block < t.num_of_faces) return update_face<weighted>(t, block);
    }
    const int number = t.backwards != 0 ? static_cast<int>(gridDim.x) - 1 - block : block - t.num_of_faces;
    const gpu_tiling::place at = t.tiling.at(number);
    cell_pair p;
    if (!place(p, at.x, at.y, 0, t.nx, t.ny, t.nx)) return;
    const int z1 = min(at.z + t.depth, t.nz);
    if constexpr (!Block::faces_first)
      return march_beside_halos<planes_beside_halos, is_even, weighted>(t, p.x, p.y, at.z, z1, edge_store<is_even>{});
    if (!Block::marches || (faces_of(t, at) & t.halos) != 0)
      return march_beside_halos<planes_beside_halos, is_even, weighted>(t, p.x, p.y, at.z, z1, no_edges{});
    const field_view field{t.in, t.out, t.pitch, t.plane, {t.x_fixed != 0, t.outside}};
    march<beyond_cache, weighted>(field, stencil{weighted, t.alpha, t.beta}, p, at.z, z1, no_sink{});
  });
}

}  // namespace jacobi::gpu
