#pragma once

#include <string>

#include "options.h"
#include "support/mpi_session.h"

namespace jacobi {

/// Collective. Why a rank has no GPU, in the same words on all ranks; empty where every rank has one.
std::string why_no_gpu(const apps::mpi_session& mpi);

/// Collective. The papers' baselines on GPUs: one block for each rank on one GPU for each rank, the GPU being the
/// rank's place on its node modulo the GPUs there. Halos go by way of host memory (MPI-H, --comm host) or directly
/// (MPI-D,
/// --comm device), which is what is done by default where MPI takes GPU memory. Returns and throws as run_mpi_solver;
/// config_error where a rank sees no GPU, not_built for --comm device where MPI does not take GPU memory.
int solve_on_gpus(const apps::mpi_session& mpi, const options& o);

}  // namespace jacobi
