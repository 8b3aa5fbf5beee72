// Staged requests that the program freed while they were under way.
#pragma once

#include "staging/held_requests.h"

namespace imbrex::sessions::IX_MPI {

void look_after(MPI_Request request, held_request what);

/// Copies back what is complete, and frees what the program cannot free any more.
void look_after_freed();
/// Until all are complete.
void wait_for_freed();

}  // namespace imbrex::sessions::IX_MPI
