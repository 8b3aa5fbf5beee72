#pragma once

#include "run_setup.h"

namespace md {

/// Runs the system on chares; returns the program's exit code.
int run_chares(int argc, char** argv, const options& o);

}  // namespace md
