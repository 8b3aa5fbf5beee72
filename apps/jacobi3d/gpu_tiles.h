#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "decomposition.h"
#include "gpu_layout.h"

/// What the kernel that updates all blocks of a GPU at once is told about them.
namespace jacobi {

/// How an update is cut into thread blocks: each takes `depth` planes of `rows` rows of `cells` cells. Numbered with x
/// fastest, then y within a strip of the grid, then z, then the strips: what one thread block reads of a neighbour's
/// planes then is still in the L2 cache.
struct gpu_tiling {
  static constexpr int cells = 64;
  static constexpr int rows = 8;
  static constexpr int planes = 4;  ///< that are loaded at once
  int nx = 0, ny = 0, nz = 0;       ///< tiles in each direction
  int strip = 0;                    ///< tiles of a strip in y
  int depth = planes;

  JACOBI_HOST_DEVICE constexpr int total() const { return nx * ny * nz; }

  /// Depth for updating so many cells in one kernel: 4, which has everything in flight at once; or 16 where then all
  /// thread blocks run at the same time.
  static constexpr int depth_for(std::int64_t num_cells) {
    constexpr std::int64_t at_once = 264, deep = 4 * planes;
    return static_cast<int>(num_cells <= at_once * cells * rows * deep ? deep : planes);
  }
  static constexpr gpu_tiling of(extents size, int depth) {
    constexpr std::int64_t strip_bytes = 1600 << 10;  // of one plane
    const auto parts = [](std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; };
    gpu_tiling t;
    t.nx = static_cast<int>(parts(size.nx, cells));
    t.ny = static_cast<int>(parts(size.ny, rows));
    t.nz = static_cast<int>(parts(size.nz, depth));
    const std::int64_t strips = parts(size.nx * size.ny * static_cast<std::int64_t>(sizeof(double)), strip_bytes);
    t.strip = static_cast<int>(parts(t.ny, strips));
    t.depth = depth;
    return t;
  }

  struct place {
    int x, y, z;
  };
  /// The tile's first cell.
  JACOBI_HOST_DEVICE constexpr place at(int number) const {
    const int of_strip = strip * nx * nz, s = number / of_strip;
    number -= s * of_strip;
    const int height = ny - s * strip < strip ? ny - s * strip : strip, of_plane = height * nx;
    const int z = number / of_plane;
    number -= z * of_plane;
    const int y = number / nx;
    return {(number - y * nx) * cells, (s * strip + y) * rows, z * depth};
  }
};

/// What lies beyond a block's ends in x. Where that is one value, it need not be read.
struct gpu_ends {
  bool fixed = false;
  double value = 0.0;
};

/// Where the values of one face go: the ghosts of the block on the other side. They may be memory of a peer.
struct gpu_neighbour {
  double* fields[2] = {};  ///< by parity; null: nobody there, the ghosts hold a fixed value
  std::int64_t first = 0;  ///< the ghost of cell (0, 0) of the face; a and b as in gpu_face
  std::int64_t stride_a = 0, stride_b = 0;

  /// The block that touches `side`, which may be the same block.
  static constexpr gpu_neighbour at(face side, const gpu_layout& theirs, double* even, double* odd) {
    const gpu_face ghosts = theirs.ghost_face(opposite(side));
    return {{even, odd}, ghosts.first, ghosts.stride_a, ghosts.stride_b};
  }
};

struct gpu_block_entry {
  gpu_layout layout;
  double* fields[2] = {};  ///< by parity
  gpu_neighbour neighbours[num_faces];
};

/// The share of one thread block of the halos: cells `first` to `first + cells` of a face that has a neighbour. They
/// are updated from the field as it was, once more than by the tiles that hold them, and stored as the neighbour's
/// ghosts: this costs a fraction of surface to volume, and keeps the tiles free of branches.
struct gpu_face_tile {
  static constexpr int cells = 1024;
  std::int32_t block = 0;
  std::int32_t side = 0;
  std::int64_t first = 0;
};

/// A block as the kernel that updates all blocks of a GPU is told about it, in its arguments.
struct gpu_step_block {
  double* fields[2] = {};  ///< by parity; cell (0, 0, 0)
  std::int64_t plane = 0;
  std::int32_t pitch = 0;
  std::int32_t nx = 0, ny = 0, nz = 0;
  std::int32_t first = 0;    ///< number of its first tile
  std::int32_t x_fixed = 0;  ///< as gpu_ends::fixed
  gpu_tiling tiling;
};

/// All the work of one iteration of the blocks of a GPU.
struct gpu_work_list {
  std::vector<gpu_face_tile> faces;
  std::vector<gpu_step_block> blocks;

  static gpu_work_list of(std::span<const gpu_block_entry> entries) {
    std::int64_t cells = 0;
    for (const gpu_block_entry& e : entries) cells += e.layout.size.cells();
    return of(entries, gpu_tiling::depth_for(cells));
  }
  static gpu_work_list of(std::span<const gpu_block_entry> entries, int depth) {
    gpu_work_list all;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      all.add_faces(entries[i], static_cast<std::int32_t>(i));
      all.add_block(entries[i], depth);
    }
    return all;
  }

 private:
  void add_faces(const gpu_block_entry& e, std::int32_t number) {
    for (int side = 0; side < num_faces; ++side) {
      if (e.neighbours[side].fields[0] == nullptr) continue;
      const std::int64_t cells = face_cells(e.layout.size, static_cast<face>(side));
      for (std::int64_t first = 0; first < cells; first += gpu_face_tile::cells) faces.push_back({number, side, first});
    }
  }
  void add_block(const gpu_block_entry& e, int depth) {
    const gpu_layout& l = e.layout;
    gpu_step_block b;
    for (int parity : {0, 1}) b.fields[parity] = e.fields[parity] + l.origin;
    b.plane = l.plane;
    b.pitch = static_cast<std::int32_t>(l.pitch);
    b.nx = static_cast<std::int32_t>(l.size.nx);
    b.ny = static_cast<std::int32_t>(l.size.ny);
    b.nz = static_cast<std::int32_t>(l.size.nz);
    b.x_fixed = e.neighbours[0].fields[0] == nullptr && e.neighbours[1].fields[0] == nullptr;
    b.tiling = gpu_tiling::of(l.size, depth);
    blocks.push_back(b);
  }
};

}  // namespace jacobi
