#pragma once

#include <mpi.h>

#include <optional>

#include "support/gpu_choice.h"

namespace apps {

/// How halos go between the GPUs of these ranks: as wanted, or directly where MPI takes memory of GPUs on all of them.
/// Where it does not and that was wanted, rank 0 warns. On all ranks.
halo_path mpi_halo_path(MPI_Comm ranks, std::optional<halo_path> wanted);

}  // namespace apps
