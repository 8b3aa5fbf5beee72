#pragma once

#include <cstdint>

#include "decomposition.h"
#include "kernels/gpu_layout.h"

/// How kernels that update a block go through its cells.
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
  std::uint16_t no_gap = 0;   ///< kernels' arguments may be compared byte by byte

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

}  // namespace jacobi
