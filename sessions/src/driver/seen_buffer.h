// What the mode kinds notes of a buffer of a call.
#pragma once

#include "base/buffer.h"
#include "routines/routine.h"

namespace imbrex::sessions::IX_MPI {

/// Notes where a buffer lies, under the name of its communicator (or as of windows, or files); where the library
/// injects, also its query, which is made here, and its time.
void see_buffer(routine_id id, const where& w, const buffer& b);

}  // namespace imbrex::sessions::IX_MPI
