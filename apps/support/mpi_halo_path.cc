#include "support/mpi_halo_path.h"

#include "imbrex/base/log.h"
#include "imbrex/comm/mpi/mpi_gpu_support.h"

namespace apps {

halo_path mpi_halo_path(MPI_Comm ranks, std::optional<halo_path> wanted) {
  int direct = imbrex::mpi_takes_gpu_memory() ? 1 : 0, rank = 0;
  MPI_Allreduce(MPI_IN_PLACE, &direct, 1, MPI_INT, MPI_MIN, ranks);
  MPI_Comm_rank(ranks, &rank);
  const halo_path path = wanted.value_or(direct != 0 ? halo_path::device : halo_path::host);
  if (path == halo_path::host || direct != 0) return path;
  if (rank == 0)
    imbrex::log_warning(
        "--comm device: this MPI does not take memory of GPUs: halos go through the host (Open MPI does with a UCX "
        "that "
        "has CUDA, by --mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any)");
  return halo_path::host;
}

}  // namespace apps
