#pragma once

#include "options.h"

namespace pingpong {

/// Finds out before the run whether --plot can be drawn: whether there is scripts/plot-pingpong, in the source tree or
/// where this program was installed, Python and matplotlib, and a place for the picture. Throws usage_error. Does
/// nothing without --plot.
void check_plot(const options& o);

/// Draws --plot from --report by that script. Gives its exit code.
int draw_plot(const options& o);

}  // namespace pingpong
