#pragma once

#include "options.h"
#include "raw_options.h"

namespace md {

/// Fills `o.what`: from the input file, which `o.input_file` names, or a built-in problem, and then from the options.
/// `o.ghost_newton` becomes what the input file says of it. Throws usage_error and config_error.
void read_problem(options& o, const raw_options& raw);

}  // namespace md
