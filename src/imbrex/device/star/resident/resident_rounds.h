#pragma once

#include <cstdint>

#include "imbrex/device/star/star_grid.h"

namespace imbrex {

/// How a block's cells are dealt to a GPU's multiprocessors (`star_resident`): tiles of `width` x `width` x `depth`,
/// one each, those at the upper ends smaller.
struct resident_cut {
  static constexpr int width = 24;
  static constexpr int shallow = 12, deep = 24;  ///< the depths there are
  int tiles_x = 0, tiles_y = 0, tiles_z = 0, depth = 0;

  constexpr int num_tiles() const { return tiles_x * tiles_y * tiles_z; }
  static constexpr resident_cut of_depth(const star_grid& g, int depth) {
    const auto number = [](int n, int each) { return (n + each - 1) / each; };
    return {number(g.nx, width), number(g.ny, width), number(g.nz, depth), depth};
  }
  /// Of the least depth that so many multiprocessors have room for. There may be more tiles than that: too many cells.
  static constexpr resident_cut of(const star_grid& g, int multiprocessors) {
    const resident_cut flat = of_depth(g, shallow);
    return flat.num_tiles() <= multiprocessors ? flat : of_depth(g, deep);
  }
};

/// Memory of a GPU into which its tiles, and those of the GPUs below and above, put what lies on their faces.
struct resident_inbox {
  /// Doubles of a tile: of six sides, each for every other state.
  static constexpr int face = resident_cut::width * resident_cut::width, of_tile = 6 * 2 * face;
  /// Counters of a tile, one for each side: how many states have come.
  static constexpr int counters = 8;

  double* faces = nullptr;  ///< null: there is no such GPU
  unsigned* counts = nullptr;
};

/// What the GPUs of a `resident_star` are told, all of them alike: how many steps, and where they meet.
struct resident_rounds {
  int num = 0;
  unsigned before = 0;  ///< states that all of them have exchanged
  resident_cut cut;
  resident_inbox own, below, above;
  int tiles_z_below = 0;
};

namespace detail {

/// Throws `usage_error` where `star_resident` cannot work so: name, value and remedy.
void check_resident(const char* name, const star_grid& g, const double* field, const resident_rounds& rounds);
/// How many multiprocessors GPU `number` of the process has. Throws `device_error`.
int multiprocessors_of(int number);

}  // namespace detail

}  // namespace imbrex
