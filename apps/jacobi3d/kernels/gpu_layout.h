#pragma once

#include <cstdint>

#include "decomposition.h"

#if defined(__CUDACC__)
#define JACOBI_HOST_DEVICE __host__ __device__
#else
#define JACOBI_HOST_DEVICE
#endif

namespace jacobi {

/// The cells of one face of a padded block, or of the ghost face beyond it: cell (a, b) is at `first + a*stride_a +
/// b*stride_b`. On x faces a is y and b is z, on y faces a is x and b is z, on z faces a is x and b is y.
struct gpu_face {
  std::int64_t first = 0;
  std::int64_t stride_a = 0, stride_b = 0;
  std::int64_t num_a = 0, num_b = 0;
};

/// Where the cells of a block lie in GPU memory: one array with the ghosts inside, `depth` deep. Cell (x, y, z), from
/// -depth to the extent and depth - 1 beyond in each direction, is at `index(x, y, z)`.
///
/// Rows start at multiples of 128 bytes from the start of the array, which must be aligned to 256. The ghosts x < 0 are
/// the last doubles of the padding before their row. Pairs of cells (even x, x + 1) may be loaded from x = 0 to beyond
/// the ghost at x = nx, and where ghosts are deeper from the last pair before them to the first behind. Ghosts on edges
/// and corners are read where ghosts are deeper than 1.
struct gpu_layout {
  extents size;
  std::int64_t depth = 1;   ///< of the ghosts
  std::int64_t pitch = 0;   ///< doubles between rows
  std::int64_t plane = 0;   ///< doubles between planes
  std::int64_t origin = 0;  ///< index of cell (0, 0, 0)

  static constexpr int most_depth = 12;

  /// Of a block of at least one cell in each direction.
  static constexpr gpu_layout of(extents size) { return of(size, size); }
  /// The same with the distances between rows and planes that a block of `largest` would have, so that blocks of
  /// slightly different extents have them in common. `depth` is at most `most_depth`.
  static constexpr gpu_layout of(extents size, extents largest, std::int64_t depth = 1) {
    gpu_layout l;
    l.size = size;
    l.depth = depth;
    const std::int64_t around = depth == 1 ? 3 : 2 * (depth + 1);
    l.pitch = (largest.nx + around + row_alignment - 1) / row_alignment * row_alignment;
    l.plane = l.pitch * (largest.ny + 2 * depth);
    l.origin = depth * (l.plane + l.pitch) + row_alignment;
    return l;
  }

  JACOBI_HOST_DEVICE constexpr std::int64_t index(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return origin + z * plane + y * pitch + x;
  }

  /// Size of the array.
  constexpr std::int64_t doubles() const { return index(0, size.ny + depth, size.nz + depth - 1) + (depth - 1); }

  /// Bytes of so many passes over all cells.
  double bytes(int passes) const { return static_cast<double>(size.cells()) * passes * sizeof(double); }

  /// The outermost cells on that side.
  JACOBI_HOST_DEVICE constexpr gpu_face inner_face(face f) const {
    return at(f, 0, size.nx - 1, size.ny - 1, size.nz - 1);
  }
  /// The ghosts on that side.
  JACOBI_HOST_DEVICE constexpr gpu_face ghost_face(face f) const { return at(f, -1, size.nx, size.ny, size.nz); }

 private:
  static constexpr std::int64_t row_alignment = 16;

  JACOBI_HOST_DEVICE constexpr gpu_face at(face f, std::int64_t low, std::int64_t x, std::int64_t y,
                                           std::int64_t z) const {
    switch (f) {
      case face::xlo: return {index(low, 0, 0), pitch, plane, size.ny, size.nz};
      case face::xhi: return {index(x, 0, 0), pitch, plane, size.ny, size.nz};
      case face::ylo: return {index(0, low, 0), 1, plane, size.nx, size.nz};
      case face::yhi: return {index(0, y, 0), 1, plane, size.nx, size.nz};
      case face::zlo: return {index(0, 0, low), 1, pitch, size.nx, size.ny};
      case face::zhi: return {index(0, 0, z), 1, pitch, size.nx, size.ny};
    }
    return {};
  }
};

/// Doubles in a halo buffer, which is dense: index z*ny + y on x faces, z*nx + x on y faces, y*nx + x on z faces.
constexpr std::int64_t face_cells(extents size, face f) {
  switch (f) {
    case face::xlo:
    case face::xhi: return size.ny * size.nz;
    case face::ylo:
    case face::yhi: return size.nx * size.nz;
    case face::zlo:
    case face::zhi: return size.nx * size.ny;
  }
  return 0;
}

}  // namespace jacobi
