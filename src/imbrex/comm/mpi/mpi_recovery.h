#pragma once

#include <mpi.h>

#include <string>

/// What an MPI offers to jobs that lose ranks: User Level Failure Mitigation (ULFM), which Open MPI 5 has
/// (`mpirun --with-ft ulfm`). Without it none of these is called but the questions.
namespace imbrex {

/// Whether this build's MPI has it.
bool mpi_has_recovery();
/// Why a job cannot go on without a rank that is lost; empty: it can.
std::string why_no_mpi_recovery();
/// Whether an error code means that a rank is lost.
bool is_lost_rank(int code);

/// All other ranks' calls on `comm` fail from now on, so that they notice.
void mpi_revoke(MPI_Comm comm);
/// Collective over those that are left: the bits that all of them gave. `waits_long`: the caller has nothing to do
/// meanwhile, and does not keep its core busy.
int mpi_agree(MPI_Comm comm, int bits, bool waits_long = false);
/// Collective over those that are left: a communicator of these, in their order.
MPI_Comm mpi_shrink(MPI_Comm comm, int me);

}  // namespace imbrex
