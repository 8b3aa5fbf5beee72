// Gives device buffers to an MPI that must not see them: through pinned host memory.
//
// Each routine of routines.def is called with stand-ins on the host for its device buffers. What it reads is copied
// there before the call, what it fills is copied back when the MPI is done with it: at once, when the request is found
// complete, when the window is synchronised, at the end of a split file access. Partitions of a message go one by one.
// Nonblocking sends are begun when their calls return, so that nobody waits for a later call of theirs; of several in a
// row, one is on its way while the next is being copied. Receives are copied back as they complete, and waited for once
// per call. Large copies go in pieces of IMBREX_SESSIONS_CHUNK_BYTES. A buffer of the host passes as it is.
//
// What is not covered is refused: the process ends, with the routine's name.
#pragma once

#include "base/services.h"
#include "routines/thread_state.h"

namespace imbrex::sessions::IX_MPI {

/// What the wrappers call: the MPI's routine, or in stage mode the one that stages.
extern void* called_routines[num_routines] __attribute__((visibility("hidden")));

/// Sets called_routines; in stage mode, those that stage.
void take_staging_routines(bool stage);

/// Stage mode, at the start of a call: looks after requests that were freed under way.
void before_staged_call();

/// Stage mode, before the MPI ends: requests that were freed under way are complete.
void before_staged_end();

/// Stage mode: ends the process if an uncovered routine got device memory.
void refuse_device_buffer(routine_id id, const void* buffer);

}  // namespace imbrex::sessions::IX_MPI
