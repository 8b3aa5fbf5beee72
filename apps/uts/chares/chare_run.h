#pragma once

#include "options.h"

namespace uts {

/// --impl chares: the whole job, from `imbrex::run` on. Returns the program's exit code.
int run_chares(int argc, char** argv, const options& o);

}  // namespace uts
