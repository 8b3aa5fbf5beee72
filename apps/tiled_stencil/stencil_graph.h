#pragma once

#include <imbrex/imbrex.h>

#include "stencil_options.h"

namespace tiled_stencil {

/// The main chare: measures, checks, prints and writes what was asked for. The exit code.
imbrex::task<int> run_stencil(imbrex::runtime& rt, const options* o);

}  // namespace tiled_stencil
