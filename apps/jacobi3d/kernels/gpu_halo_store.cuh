#pragma once

#include "kernels/gpu_stencil.cuh"

namespace jacobi::gpu {

/// A sink of `march` that stores the block's outermost cells where halos go as well. `Targets::at(f, a, b)` is the
/// place of cell (a, b) of face f, for the faces in `faces` only; with `Targets::pairs` those of pairs of cells on y
/// and z faces are aligned to 16 bytes.
template <class Targets>
struct halo_store {
  Targets targets;
  unsigned faces = 0;
  int nx = 0, ny = 0, nz = 0;

  __device__ __forceinline__ bool on(face f) const { return (faces >> static_cast<int>(f) & 1u) != 0; }

  __device__ __forceinline__ void operator()(const cell_pair& p, int z, double2 value) const {
    if (on(face::ylo) && p.y == 0) put(face::ylo, p, z, value);
    if (on(face::yhi) && p.y == ny - 1) put(face::yhi, p, z, value);
    if (on(face::zlo) && z == 0) put(face::zlo, p, p.y, value);
    if (on(face::zhi) && z == nz - 1) put(face::zhi, p, p.y, value);
    if (on(face::xlo) && p.lo && p.x == 0) *targets.at(face::xlo, p.y, z) = value.x;
    if (on(face::xhi)) {
      if (p.lo && p.x == nx - 1) *targets.at(face::xhi, p.y, z) = value.x;
      if (p.hi && p.x == nx - 2) *targets.at(face::xhi, p.y, z) = value.y;
    }
  }

  __device__ __forceinline__ void put(face f, const cell_pair& p, int b, double2 value) const {
    if (!p.lo && !p.hi) return;
    double* at = targets.at(f, p.x, b);
    if constexpr (Targets::pairs) {
      store_pair(at, value, p);
    } else {
      if (p.lo) at[0] = value.x;
      if (p.hi) at[1] = value.y;
    }
  }
};

}  // namespace jacobi::gpu
