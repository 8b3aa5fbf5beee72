// The counts of all ranks, brought to rank 0 and written there.
#pragma once

#include "base/services.h"

namespace imbrex::sessions::IX_MPI {

/// Collective over MPI_COMM_WORLD; called in MPI_Finalize, before the MPI's own.
void report_gathered();

}  // namespace imbrex::sessions::IX_MPI
