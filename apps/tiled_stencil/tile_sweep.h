#pragma once

#include <imbrex/imbrex.h>

/// One step of a tile of n by n cells, x fastest: each becomes the mean of its neighbours. Those outside of the tile
/// lie in the edges of the tiles around it, of n cells each, and its own edges are written beside the tile.
namespace tiled_stencil {

/// On the host.
void sweep_on_host(int n, const double* cells, const double* west, const double* east, const double* south,
                   const double* north, double* to, double* to_west, double* to_east, double* to_south,
                   double* to_north);
/// The same bits on a device, in stream order.
void sweep_on_device(imbrex::stream& s, int n, const double* cells, const double* west, const double* east,
                     const double* south, const double* north, double* to, double* to_west, double* to_east,
                     double* to_south, double* to_north);

/// The edges of a tile.
void take_edges(int n, const double* cells, double* west, double* east, double* south, double* north);

}  // namespace tiled_stencil
