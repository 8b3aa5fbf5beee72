#include "staging/staging.h"

#include "base/settings.h"
#include "driver/driver_queries.h"
#include "routines/dispatch.h"
#include "staging/freed_requests.h"
#include "staging/staged_routines.h"

namespace imbrex::sessions::IX_MPI {

void* called_routines[num_routines];

void take_staging_routines(bool stage) {
  for (int i = 0; i < num_routines; ++i) called_routines[i] = real_routines[i];
  if (!stage) return;
  take_staged_table(called_routines);
  take_staged_starts(called_routines);
  take_staged_completions(called_routines);
  take_staged_inquiries(called_routines);
  take_staged_accesses(called_routines);
}

void before_staged_call() { look_after_freed(); }
void before_staged_end() { wait_for_freed(); }

void refuse_device_buffer(routine_id id, const void* buffer) {
  if (called_routines[id] != real_routines[id] || place_of(buffer) != place::device) return;
  give_up(
      "%s: stage does not cover this routine, and buffer %p is device memory; make the window on host memory "
      "(MPI_Win_allocate) and copy between it and the device yourself, or use a CUDA-aware MPI",
      name_of(id), buffer);
}

}  // namespace imbrex::sessions::IX_MPI
