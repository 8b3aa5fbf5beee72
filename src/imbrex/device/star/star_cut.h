#pragma once

#include <algorithm>

#include "imbrex/device/star/star_grid.h"

#if defined(__CUDACC__)
#define IMBREX_STAR_ANYWHERE __host__ __device__
#else
#define IMBREX_STAR_ANYWHERE
#endif

/// How steps are cut into passes over memory, and a pass into thread blocks.
namespace imbrex::detail {

/// Steps that one pass can do.
inline constexpr int most_star_steps = 4;

/// Of so many steps that are left, those of the next pass: the first does what is left over, the others most.
constexpr int steps_of_next_pass(int left) { return (left - 1) % most_star_steps + 1; }

/// What a pass writes when `left_after` steps are left after it. Threads have pairs of cells, so it begins at an even
/// x.
constexpr star_box written_by_pass(const star_grid& g, int left_after) {
  star_box b = grown(g, left_after);
  b.x0 -= b.x0 & 1;
  return b;
}

/// What every thread block does: it marches through planes of z with a column of 64 x 32 cells, two in x and four in y
/// for each thread, of which those next to its edges are lost, one for each step and side. Two thread blocks of a
/// cluster, side by side in y, lose none between them.
struct star_shape {
  static constexpr int warps = 8, rows_of_thread = 4, rows = warps * rows_of_thread, width = 64;

  /// Cells lost in x: even, since threads have pairs.
  static constexpr int lost_in_x(int steps) { return (steps + 1) / 2 * 2; }
  /// Cells that are left.
  static constexpr int own_in_x(int steps) { return width - 2 * lost_in_x(steps); }
  static constexpr int own_in_y(int steps, int cluster) { return cluster * rows - 2 * steps; }
};

/// A pass that writes the cells of `box`, as its thread blocks see it.
struct star_cut {
  star_box box;
  int cluster = 1;  ///< thread blocks that share a column
  int own_x = 0, own_y = 0;
  int tiles_x = 0, tiles_y = 0, tiles_z = 0;
  int depth = 0;  ///< planes of a tile

  constexpr long num_tiles() const { return static_cast<long>(tiles_x) * tiles_y * tiles_z; }
  constexpr long num_blocks() const { return num_tiles() * cluster; }

  /// The cells that tile `number` writes. Those at the ends take longest, and go first.
  IMBREX_STAR_ANYWHERE constexpr star_box tile(int number) const {
    const int z = number % tiles_z, rest = number / tiles_z;
    const int y = ends_first(rest % tiles_y, tiles_y), x = ends_first(rest / tiles_y, tiles_x);
    star_box b{box.x0 + x * own_x, 0, box.y0 + y * own_y, 0, box.z0 + z * depth, 0};
    b.x1 = lesser(b.x0 + own_x, box.x1);
    b.y1 = lesser(b.y0 + own_y, box.y1);
    b.z1 = lesser(b.z0 + depth, box.z1);
    return b;
  }

  static constexpr star_cut of(const star_box& box, int steps, int cluster, int multiprocessors) {
    star_cut c;
    c.box = box;
    c.cluster = cluster;
    c.own_x = star_shape::own_in_x(steps);
    c.own_y = star_shape::own_in_y(steps, cluster);
    c.tiles_x = parts(box.x1 - box.x0, c.own_x);
    c.tiles_y = parts(box.y1 - box.y0, c.own_y);
    c.set_depth(steps, std::max(multiprocessors / cluster, 1));
    return c;
  }

 private:
  IMBREX_STAR_ANYWHERE static constexpr int lesser(int a, int b) { return a < b ? a : b; }
  static constexpr int parts(int whole, int part) { return (whole + part - 1) / part; }

  IMBREX_STAR_ANYWHERE static constexpr int ends_first(int nth, int of) {
    return nth == 0 ? 0 : nth == 1 ? of - 1 : nth - 1;
  }

  /// A multiprocessor has one column at a time, and a tile needs 2 * steps planes more than it writes: the depth with
  /// which the rounds of tiles take least. Tiles at ends take longer than others, so of nearly the same the flatter.
  constexpr void set_depth(int steps, int at_once) {
    const int planes = box.z1 - box.z0, columns = tiles_x * tiles_y;
    long least = 0;
    for (int n = 1; n <= planes && n <= 64; ++n) {
      const int each = parts(planes, n), num = parts(planes, each), of_tile = each + 2 * steps;
      const long rounds = (static_cast<long>(columns) * num + at_once - 1) / at_once;
      const long time = 8 * rounds * of_tile + of_tile;
      if (n > 1 && time >= least) continue;
      least = time;
      depth = each;
      tiles_z = num;
    }
  }
};

}  // namespace imbrex::detail
