#include "tile_sweep.h"

#include <algorithm>
#include <cstddef>

#include "tile_sweep.hk"

namespace tiled_stencil {

void sweep_on_host(int n, const double* cells, const double* west, const double* east, const double* south,
                   const double* north, double* to, double* to_west, double* to_east, double* to_south,
                   double* to_north) {
  const auto width = static_cast<std::size_t>(n);
  for (std::size_t y = 0; y < width; ++y) {
    const double* const row = cells + y * width;
    const double* const below = y > 0 ? row - width : south;
    const double* const above = y + 1 < width ? row + width : north;
    double* const out = to + y * width;
    for (std::size_t x = 1; x + 1 < width; ++x) out[x] = 0.25 * ((row[x - 1] + row[x + 1]) + (below[x] + above[x]));
    const std::size_t last = width - 1;
    out[0] = 0.25 * ((west[y] + (last > 0 ? row[1] : east[y])) + (below[0] + above[0]));
    if (last > 0) out[last] = 0.25 * ((row[last - 1] + east[y]) + (below[last] + above[last]));
  }
  take_edges(n, to, to_west, to_east, to_south, to_north);
}

void take_edges(int n, const double* cells, double* west, double* east, double* south, double* north) {
  const auto width = static_cast<std::size_t>(n);
  for (std::size_t y = 0; y < width; ++y) {
    west[y] = cells[y * width];
    east[y] = cells[y * width + width - 1];
  }
  std::copy_n(cells, width, south);
  std::copy_n(cells + (width - 1) * width, width, north);
}

void sweep_on_device(imbrex::stream& s, int n, const double* cells, const double* west, const double* east,
                     const double* south, const double* north, double* to, double* to_west, double* to_east,
                     double* to_south, double* to_north) {
  const auto width = static_cast<std::size_t>(n);
  imbrex::launch(s, tile_sweep, imbrex::launch_shape::over_grid(width, width, 1), n, cells, west, east, south, north,
                 to, to_west, to_east, to_south, to_north);
}

}  // namespace tiled_stencil
