#include "staging.h"

#include "dispatch.h"
#include "driver_queries.h"
#include "settings.h"
#include "staged_requests.h"
#include "staged_routines.h"

namespace imbrex::sessions::IX_MPI {

void* called_routines[num_routines];

namespace {

bool leaves_sends_waiting(routine_id id) {
  return id == id_Isend || id == id_Issend || id == id_Irsend || id == id_Irecv;
}

}  // namespace

void take_staging_routines(bool stage) {
  for (int i = 0; i < num_routines; ++i) called_routines[i] = real_routines[i];
  if (!stage) return;
  take_staged_messages(called_routines);
  take_staged_completions(called_routines);
  take_staged_collectives(called_routines);
}

void before_staged_call(routine_id id) {
  if (!leaves_sends_waiting(id)) start_waiting_sends();
}

void refuse_device_buffer(routine_id id, const void* buffer) {
  if (called_routines[id] != real_routines[id] || place_of(buffer) != place::device) return;
  give_up(
      "%s: stage does not cover this routine, and buffer %p is device memory; covered are point-to-point messages, "
      "Bcast, Reduce, Allreduce, Reduce_scatter_block, Gather(v), Scatter(v), Allgather(v), Alltoall(v); copy to the "
      "host "
      "yourself, or use a CUDA-aware MPI",
      name_of(id), buffer);
}

}  // namespace imbrex::sessions::IX_MPI
