#pragma once

#include <imbrex/imbrex.h>

#include "tile_options.h"

namespace tiled_dgemm {

/// The main chare: all ranks multiply with every size of tile in turns, and it tells what came out. `o` outlives the
/// job. Its exit code is 1 when a product was wrong.
imbrex::task<int> run_products(imbrex::runtime& rt, const options* o);

}  // namespace tiled_dgemm
