#pragma once

#include <imbrex/imbrex.h>

#include "options.h"

namespace pingpong {

/// The main chare: places the players, has them measure every mode at every size in turns, and tells what came out.
/// `o` outlives the job. Its exit code is 1 when a message did not hold what it should.
imbrex::task<int> referee(imbrex::runtime& rt, const options* o);

}  // namespace pingpong
