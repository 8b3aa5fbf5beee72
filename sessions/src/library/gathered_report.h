// The counts of all ranks, brought to rank 0 and written there.
#pragma once

#include "base/services.h"

namespace imbrex::sessions::IX_MPI {

/// Whether this rank brings counts to rank 0; then all ranks of the job must, by the same settings.
bool is_reported();

/// Collective over MPI_COMM_WORLD, as the next; called in MPI_Init after the MPI's own. Complains once where the others
/// are long in coming, and goes on waiting. Gives an MPI error code.
int meet_all_ranks();

/// Collective over MPI_COMM_WORLD; called in MPI_Finalize, before the MPI's own.
void report_gathered();

}  // namespace imbrex::sessions::IX_MPI
