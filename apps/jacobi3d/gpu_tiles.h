#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "decomposition.h"
#include "gpu_layout.h"

/// What the kernel that updates all blocks of a GPU at once is told about them.
namespace jacobi {

/// How an update is cut into thread blocks: each marches through `depth` planes of `rows` rows of `cells` cells.
struct gpu_tiling {
  static constexpr int cells = 64;
  static constexpr int rows = 8;
  int depth = 8;           ///< more: fewer planes are read twice; fewer: more thread blocks
  bool streaming = false;  ///< stores that do not displace what the L2 cache holds

  /// For updating so many cells in one kernel. The L2 caches of the GPUs meant hold some 50 MB.
  static constexpr gpu_tiling of(std::int64_t num_cells) {
    constexpr std::int64_t enough_tiles = 3000, large = std::int64_t{1} << 24;
    const std::int64_t columns = num_cells / (cells * rows);
    const int depth = columns >= 16 * enough_tiles ? 16 : columns >= 8 * enough_tiles ? 8 : 4;
    return {depth, num_cells >= large};
  }
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

/// The share of one thread block: cells from (x0, y0, z0) to gpu_tiling's extents, the block's end, and z1.
struct gpu_tile {
  static constexpr std::uint32_t streams = 1u << num_faces;  ///< flag beyond the faces' bits
  std::int32_t block = 0;
  std::int32_t x0 = 0, y0 = 0, z0 = 0, z1 = 0;
  std::uint32_t flags =
      0;  ///< one bit for each face, in the order of `face`, that has a neighbour and lies in the tile
};

namespace detail {

inline std::uint32_t touched_faces(const gpu_block_entry& b, const gpu_tile& t) {
  const extents& n = b.layout.size;
  const bool touched[num_faces] = {
      t.x0 == 0, t.x0 + gpu_tiling::cells >= n.nx, t.y0 == 0, t.y0 + gpu_tiling::rows >= n.ny, t.z0 == 0, t.z1 >= n.nz};
  std::uint32_t faces = 0;
  for (int f = 0; f < num_faces; ++f)
    if (touched[f] && b.neighbours[f].fields[0] != nullptr) faces |= 1u << f;
  return faces;
}

}  // namespace detail

/// All tiles of the blocks, to be given to `gpu_step` with the table that these entries form. The entries' numbers are
/// their places in `blocks`.
inline std::vector<gpu_tile> gpu_tiles_of(std::span<const gpu_block_entry> blocks, gpu_tiling how) {
  std::vector<gpu_tile> tiles;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const extents& n = blocks[i].layout.size;
    gpu_tile t;
    t.block = static_cast<std::int32_t>(i);
    for (std::int64_t z = 0; z < n.nz; z += how.depth) {
      t.z0 = static_cast<std::int32_t>(z);
      t.z1 = static_cast<std::int32_t>(std::min(z + how.depth, n.nz));
      for (std::int64_t y = 0; y < n.ny; y += gpu_tiling::rows) {
        t.y0 = static_cast<std::int32_t>(y);
        for (std::int64_t x = 0; x < n.nx; x += gpu_tiling::cells) {
          t.x0 = static_cast<std::int32_t>(x);
          t.flags = detail::touched_faces(blocks[i], t) | (how.streaming ? gpu_tile::streams : 0);
          tiles.push_back(t);
        }
      }
    }
  }
  return tiles;
}

/// With the tiling that suits the number of cells.
inline std::vector<gpu_tile> gpu_tiles_of(std::span<const gpu_block_entry> blocks) {
  std::int64_t cells = 0;
  for (const gpu_block_entry& b : blocks) cells += b.layout.size.cells();
  return gpu_tiles_of(blocks, gpu_tiling::of(cells));
}

}  // namespace jacobi
