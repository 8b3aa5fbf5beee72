#pragma once

namespace imbrex {

/// Whether the MPI of this process takes pointers to memory of NVIDIA GPUs in point-to-point calls, as far as it can be
/// asked: Open MPI's own word (`MPIX_Query_cuda_support`), or, where its messages are known to go by UCX (`--mca pml
/// ucx`), that of the UCX it has loaded. After MPI has been initialised; any thread; asks once.
bool mpi_takes_gpu_memory();

}  // namespace imbrex
