#pragma once

#include <imbrex/imbrex.h>

#include "tile_options.h"

namespace tiled_dgemm {

/// The main chare: has the PEs multiply with every size of tile in turns, and tells what came out. `o` outlives the
/// job. Its exit code is 1 when a product was wrong.
imbrex::task<int> referee(imbrex::runtime& rt, const options* o);

}  // namespace tiled_dgemm
