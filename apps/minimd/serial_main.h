#pragma once

#include "run_setup.h"

namespace md {

/// Runs the system in one box by a loop, in this thread, with nothing of imbrex or MPI: what any other way costs more.
/// Returns the program's exit code.
int run_serial(int argc, char** argv, const options& o);

}  // namespace md
