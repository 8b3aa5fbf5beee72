#pragma once

#include "run_setup.h"

namespace md {

/// Runs the system with one box for each rank of MPI and nothing of imbrex: what its chares are compared with. Returns
/// the program's exit code. Throws `not_built` where imbrex was built without MPI.
int run_mpi(int argc, char** argv, const options& o);

}  // namespace md
