#pragma once

#include <cstdint>

namespace imbrex {

/// How `star_steps` does its last step.
enum class star_last_step {
  fused,  ///< with those before
  alone   ///< by itself: the other field holds the state before it, to see what has changed
};

/// The sides of a block, in the order of `star_grid::open`.
enum class star_side { x_low, x_high, y_low, y_high, z_low, z_high };

/// A block of cells that `star_steps` updates, and what lies around them. Fields of it are told by the address of their
/// cell (0, 0, 0); cell (x, y, z) is `z * plane + y * pitch + x` doubles from there.
///
/// On a side that is *open* lie cells of neighbours, beyond edges and corners, too, as deep as there are steps. On one
/// that is not the domain ends: all cells beyond it have the value `outside` at any time, and no memory is needed for
/// them.
struct star_grid {
  int nx = 0, ny = 0, nz = 0;         ///< the block's own cells
  std::int64_t pitch = 0, plane = 0;  ///< doubles between rows and between planes; even
  bool open[6] = {};                  ///< by star_side
  double outside = 0.0;

  constexpr bool is_open(star_side s) const { return open[static_cast<int>(s)]; }
};

/// Cells x0 <= x < x1 and so on.
struct star_box {
  int x0 = 0, x1 = 0, y0 = 0, y1 = 0, z0 = 0, z1 = 0;

  constexpr bool is_empty() const { return x0 >= x1 || y0 >= y1 || z0 >= z1; }
};

/// The block's own cells and, on sides that are open, `more` of those around.
constexpr star_box grown(const star_grid& g, int more) {
  const auto by = [&](star_side s) { return g.is_open(s) ? more : 0; };
  return {-by(star_side::x_low),        g.nx + by(star_side::x_high), -by(star_side::y_low),
          g.ny + by(star_side::y_high), -by(star_side::z_low),        g.nz + by(star_side::z_high)};
}

/// The cells that are there at all: those that are not beyond an end of the domain.
constexpr star_box domain(const star_grid& g) {
  constexpr int far = 1 << 30;
  return grown(g, far);
}

namespace detail {

/// Throws `usage_error` where `star_steps` cannot work on such a grid and such fields: name, value and remedy.
void check_star(const char* name, const star_grid& g, const double* field, const double* other, int steps);

}  // namespace detail

}  // namespace imbrex
