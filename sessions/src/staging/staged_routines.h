// The routines that stage, entered by routine_id where staging.cc collects them.
#pragma once

#include "base/services.h"
#include "routines/dispatch.h"

namespace imbrex::sessions::IX_MPI {

void take_staged_table(void** routines);        ///< all of routines.def (staged_table.cc)
void take_staged_starts(void** routines);       ///< of persistent requests, and of parts (staged_starts.cc)
void take_staged_completions(void** routines);  ///< waits and tests (staged_completions.cc)
void take_staged_inquiries(void** routines);    ///< of requests that go on, and their freeing (staged_inquiries.cc)
void take_staged_accesses(void** routines);     ///< ends of one-sided and of split file accesses (staged_accesses.cc)

/// Only where this MPI has the routine.
template <class Function>
void enter(void** routines, routine_id id, Function* function) {
  if (real_routines[id] != nullptr) routines[id] = reinterpret_cast<void*>(function);
}

}  // namespace imbrex::sessions::IX_MPI
