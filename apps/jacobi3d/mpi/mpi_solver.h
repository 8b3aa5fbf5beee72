#pragma once

#include "options.h"

namespace jacobi {

/// Runs Jacobi3D the way the papers' baseline does: one block for each MPI rank, non-blocking halo exchange, then the
/// update (bulk-synchronous); with --overlap interior, wait, exterior. The same kernels as the chare implementation, on
/// one thread for each rank (mpi_host_block.h) or one GPU for each rank (mpi_gpu_solver.h). Initialises and finalises
/// MPI. Without mpirun it is a single rank.
/// See solver.h for what every implementation does and returns. Throws not_built where MPI was not found at build time.
int run_mpi_solver(int argc, char** argv, const options& o);

}  // namespace jacobi
