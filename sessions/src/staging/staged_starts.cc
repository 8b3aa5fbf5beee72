// Starts of persistent requests: what they read is brought to the host first.
#include "routines/real_routine.h"
#include "staging/held_requests.h"
#include "staging/staged_routines.h"

namespace imbrex::sessions::IX_MPI {

namespace {

int start(MPI_Request* request) {
  if (here.depth == 1) begin_persistent(*request);
  return real<int(MPI_Request*)>(id_Start)(request);
}

int startall(int count, MPI_Request requests[]) {
  for (int i = 0; here.depth == 1 && i < count; ++i) begin_persistent(requests[i]);
  return real<int(int, MPI_Request[])>(id_Startall)(count, requests);
}

}  // namespace

void take_staged_starts(void** routines) {
  enter(routines, id_Start, &start);
  enter(routines, id_Startall, &startall);
}

}  // namespace imbrex::sessions::IX_MPI
