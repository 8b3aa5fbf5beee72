// The routines that stage, entered by routine_id where staging.cc collects them.
#pragma once

#include "services.h"

namespace imbrex::sessions::IX_MPI {

void take_staged_messages(void** routines);     ///< point-to-point, starts (staged_messages.cc)
void take_staged_completions(void** routines);  ///< waits and tests (staged_completions.cc)
void take_staged_collectives(void** routines);  ///< (staged_collectives.cc)

}  // namespace imbrex::sessions::IX_MPI
