// Starts of persistent requests, and parts of partitioned messages: what they read is brought to the host first. A part
// that is received goes to the device when the program learns that it arrived.
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

staged_pointer parts_of(MPI_Request request) { return here.depth == 1 ? partitioned_of(request) : nullptr; }

int pready(int partition, MPI_Request request) {
  const staged_pointer operation = parts_of(request);
  if (operation != nullptr) operation->refresh_part(partition);
  return real<int(int, MPI_Request)>(id_Pready)(partition, request);
}

int pready_range(int first, int last, MPI_Request request) {
  const staged_pointer operation = parts_of(request);
  for (int i = first; operation != nullptr && i <= last; ++i) operation->refresh_part(i);
  return real<int(int, int, MPI_Request)>(id_Pready_range)(first, last, request);
}

int pready_list(int length, const int partitions[], MPI_Request request) {
  const staged_pointer operation = parts_of(request);
  for (int i = 0; operation != nullptr && i < length; ++i) operation->refresh_part(partitions[i]);
  return real<int(int, const int[], MPI_Request)>(id_Pready_list)(length, partitions, request);
}

int parrived(MPI_Request request, int partition, int* flag) {
  const staged_pointer operation = parts_of(request);
  const int result = real<int(MPI_Request, int, int*)>(id_Parrived)(request, partition, flag);
  if (operation != nullptr && result == MPI_SUCCESS && *flag != 0) operation->return_part(partition);
  return result;
}

}  // namespace

void take_staged_starts(void** routines) {
  enter(routines, id_Start, &start);
  enter(routines, id_Startall, &startall);
  enter(routines, id_Pready, &pready);
  enter(routines, id_Pready_range, &pready_range);
  enter(routines, id_Pready_list, &pready_list);
  enter(routines, id_Parrived, &parrived);
}

}  // namespace imbrex::sessions::IX_MPI
