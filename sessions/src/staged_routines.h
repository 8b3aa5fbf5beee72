// The routines that stage, entered by routine_id where staging.cc collects them.
#pragma once

#include "services.h"

namespace imbrex::sessions::IX_MPI {

void take_staged_table(void** routines);  ///< all of routines.def (staged_table.cc)
void take_staged_sends(void** routines);  ///< nonblocking sends that wait for their copies, starts (staged_sends.cc)
void take_staged_completions(void** routines);  ///< waits and tests (staged_completions.cc)
void take_staged_inquiries(void** routines);    ///< of requests that go on, and their freeing (staged_inquiries.cc)
void take_staged_accesses(void** routines);     ///< ends of one-sided and of split file accesses (staged_accesses.cc)

}  // namespace imbrex::sessions::IX_MPI
