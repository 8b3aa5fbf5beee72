#pragma once

#include "options.h"

namespace pingpong {

/// Draws --plot from --report by scripts/plot-pingpong of the source tree. Gives its exit code: 3 where matplotlib is
/// missing. Throws usage_error when Python cannot be started.
int draw_plot(const options& o);

}  // namespace pingpong
