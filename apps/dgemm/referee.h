#pragma once

#include <imbrex/imbrex.h>

#include "options.h"

namespace dgemm {

/// The main chare: has the PEs measure every variant at every size in turns, and tells what came out. `o` outlives the
/// job. Its exit code is 1 when a product was wrong.
imbrex::task<int> referee(imbrex::runtime& rt, const options* o);

}  // namespace dgemm
