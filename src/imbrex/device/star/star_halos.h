#pragma once

#include <array>
#include <span>

#include "imbrex/device/star/star_grid.h"

namespace imbrex {

/// What a block of a `star_grid` exchanges with one neighbour before `depth` steps.
struct star_halo {
  std::array<int, 3> offset{};  ///< where the neighbour is: -1, 0 or 1 along x, y, z (as `neighbour::offset`)
  double* cells = nullptr;      ///< a buffer of `num_cells`, dense, x fastest
};

namespace detail {

constexpr star_box cells_towards(const star_grid& g, const std::array<int, 3>& offset, int depth, bool ghosts) {
  const std::array<int, 3> n{g.nx, g.ny, g.nz};
  std::array<int, 3> first{}, end = n;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (offset[axis] == 0) continue;
    if (offset[axis] < 0) {
      first[axis] = ghosts ? -depth : 0;
    } else {
      first[axis] = ghosts ? n[axis] : n[axis] - depth;
    }
    end[axis] = first[axis] + depth;
  }
  return {first[0], end[0], first[1], end[1], first[2], end[2]};
}

}  // namespace detail

/// The block's own cells that a neighbour at `offset` needs, and where what comes from there goes.
constexpr star_box inner_cells(const star_grid& g, const std::array<int, 3>& offset, int depth) {
  return detail::cells_towards(g, offset, depth, false);
}
constexpr star_box ghost_cells(const star_grid& g, const std::array<int, 3>& offset, int depth) {
  return detail::cells_towards(g, offset, depth, true);
}

constexpr std::int64_t num_cells(const star_box& b) {
  return std::int64_t{b.x1 - b.x0} * (b.y1 - b.y0) * (b.z1 - b.z0);
}

/// What `star_pack` and `star_unpack` do on a GPU, on the calling thread. Return when it has been done.
inline void star_pack_on_host(const star_grid& g, const double* field, int depth, std::span<const star_halo> halos) {
  for (const star_halo& h : halos) {
    const star_box b = inner_cells(g, h.offset, depth);
    double* to = h.cells;
    for (int z = b.z0; z < b.z1; ++z)
      for (int y = b.y0; y < b.y1; ++y)
        for (int x = b.x0; x < b.x1; ++x) *to++ = field[z * g.plane + y * g.pitch + x];
  }
}
inline void star_unpack_on_host(const star_grid& g, double* field, int depth, std::span<const star_halo> halos) {
  for (const star_halo& h : halos) {
    const star_box b = ghost_cells(g, h.offset, depth);
    const double* from = h.cells;
    for (int z = b.z0; z < b.z1; ++z)
      for (int y = b.y0; y < b.y1; ++y)
        for (int x = b.x0; x < b.x1; ++x) field[z * g.plane + y * g.pitch + x] = *from++;
  }
}

}  // namespace imbrex
