#pragma once

#include "options.h"

namespace jacobi {

/// Runs Jacobi3D as a chare array on the imbrex runtime; see solver.h for what every implementation does and returns.
int run_chare_solver(int argc, char** argv, const options& o);

}  // namespace jacobi
