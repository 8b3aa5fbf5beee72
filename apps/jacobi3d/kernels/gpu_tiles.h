#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "decomposition.h"
#include "kernels/gpu_layout.h"

/// What the kernel that updates all blocks of a GPU at once is told about them.
namespace jacobi {

/// Division of numbers below 2^24 by one that is known before: a few instructions, where every thread block starts with
/// several of them.
struct quick_divisor {
  int by = 1;
  float inverse = 1.0f;

  constexpr quick_divisor() = default;
  explicit constexpr quick_divisor(int d) : by(d), inverse(1.0f / static_cast<float>(d)) {}

  /// The quotient; leaves the remainder in `number`.
  JACOBI_HOST_DEVICE constexpr int divide(int& number) const {
    int quotient = static_cast<int>(static_cast<float>(number) * inverse);  // right, or off by one
    number -= quotient * by;
    if (number < 0) {
      --quotient;
      number += by;
    } else if (number >= by) {
      ++quotient;
      number -= by;
    }
    return quotient;
  }
};

/// How a kernel goes through so many cells, by how its fields compare with the L2 cache.
struct gpu_cut {
  int depth = 8;  ///< planes of a thread block
  bool alternating =
      false;  ///< backwards in every other iteration: what the last one touched last is still in the cache
  bool beyond_cache = false;  ///< keep what neighbours will read again, let go what is written

  static constexpr gpu_cut of(std::int64_t num_cells) {
    constexpr std::int64_t at_once = std::int64_t{528} * 64 * 8 * 8;  // one round of thread blocks
    constexpr std::int64_t far_beyond = std::int64_t{1} << 24;
    if (num_cells <= at_once) return {8, false, false};
    if (num_cells <= far_beyond) return {16, true, false};
    return {8, false, true};
  }
};

/// How an update is cut into thread blocks: each takes `depth` planes of `rows` rows of `cells` cells. Numbered with x
/// fastest, then y within a strip of the grid, then z, then the strips: what one thread block reads of a neighbour's
/// planes then is still in the L2 cache.
struct gpu_tiling {
  static constexpr int cells = 64;
  static constexpr int rows = 8;
  int nx = 0, ny = 0, nz = 0;  ///< tiles in each direction
  int strip = 0;               ///< tiles of a strip in y
  gpu_cut cut;
  quick_divisor of_strip, of_plane, of_last_plane, of_row;  ///< tiles; the last strip may be lower than the others

  JACOBI_HOST_DEVICE constexpr int total() const { return nx * ny * nz; }

  static constexpr gpu_tiling of(extents size, gpu_cut cut) {
    constexpr std::int64_t strip_bytes = 2400 << 10;  // of one plane
    gpu_tiling t;
    t.nx = parts(size.nx, cells);
    t.ny = parts(size.ny, rows);
    t.nz = parts(size.nz, cut.depth);
    t.cut = cut;
    t.set_strip(parts(t.ny, parts(size.nx * size.ny * static_cast<std::int64_t>(sizeof(double)), strip_bytes)));
    return t;
  }
  constexpr void set_strip(int tiles) {
    strip = tiles;
    of_strip = quick_divisor(strip * nx * nz);
    of_plane = quick_divisor(strip * nx);
    of_last_plane = quick_divisor((ny - (ny - 1) / strip * strip) * nx);
    of_row = quick_divisor(nx);
  }

  struct place {
    int x, y, z;
  };
  /// The tile's first cell.
  JACOBI_HOST_DEVICE constexpr place at(int number) const {
    const int y0 = of_strip.divide(number) * strip;
    const int z = (ny - y0 < strip ? of_last_plane : of_plane).divide(number);
    const int y = of_row.divide(number);
    return {number * cells, (y0 + y) * rows, z * cut.depth};
  }

 private:
  static constexpr int parts(std::int64_t whole, std::int64_t part) {
    return static_cast<int>((whole + part - 1) / part);
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
  std::int32_t nx = 0, ny = 0, nz = 0;
  std::int32_t x_fixed = 0;  ///< as gpu_ends::fixed
};

/// All the work of one iteration of the blocks of a GPU.
struct gpu_work_list {
  std::vector<gpu_face_tile> faces;
  std::vector<gpu_step_block> blocks;
  gpu_tiling tiling;                  ///< of every block: that of the largest
  std::int64_t pitch = 0, plane = 0;  ///< of every block

  /// All blocks have the same distances between rows and planes (see gpu_layout::of).
  static gpu_work_list of(std::span<const gpu_block_entry> entries) {
    std::int64_t cells = 0;
    for (const gpu_block_entry& e : entries) cells += e.layout.size.cells();
    return of(entries, gpu_cut::of(cells));
  }
  static gpu_work_list of(std::span<const gpu_block_entry> entries, gpu_cut cut) {
    gpu_work_list all;
    extents largest;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const extents& n = entries[i].layout.size;
      largest = {std::max(largest.nx, n.nx), std::max(largest.ny, n.ny), std::max(largest.nz, n.nz)};
      all.add_faces(entries[i], static_cast<std::int32_t>(i));
      all.add_block(entries[i]);
    }
    if (entries.empty()) return all;
    all.tiling = gpu_tiling::of(largest, cut);
    all.pitch = entries[0].layout.pitch;
    all.plane = entries[0].layout.plane;
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
  void add_block(const gpu_block_entry& e) {
    const gpu_layout& l = e.layout;
    gpu_step_block b;
    for (int parity : {0, 1}) b.fields[parity] = e.fields[parity] + l.origin;
    b.nx = static_cast<std::int32_t>(l.size.nx);
    b.ny = static_cast<std::int32_t>(l.size.ny);
    b.nz = static_cast<std::int32_t>(l.size.nz);
    b.x_fixed = e.neighbours[0].fields[0] == nullptr && e.neighbours[1].fields[0] == nullptr;
    blocks.push_back(b);
  }
};

}  // namespace jacobi
