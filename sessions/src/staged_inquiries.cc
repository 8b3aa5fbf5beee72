// What a program may ask of requests without completing them, and their freeing.
#include <vector>

#include "dispatch.h"
#include "held_operations.h"
#include "staged_routines.h"

namespace imbrex::sessions::IX_MPI {

namespace {

template <class Type>
Type* real(routine_id id) {
  return reinterpret_cast<Type*>(real_routines[id]);
}

int request_free(MPI_Request* request) {
  if (here.depth == 1 && take_freed(request)) return MPI_SUCCESS;
  return real<int(MPI_Request*)>(id_Request_free)(request);
}

/// A request that is found complete gives the program its buffers: what was received is copied back now, and only now.
int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const staged_pointer operation = staged_of(request);
  MPI_Status own;
  MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
  const int result = real<int(MPI_Request, int*, MPI_Status*)>(id_Request_get_status)(request, flag, used);
  if (operation == nullptr || result != MPI_SUCCESS || *flag == 0) return result;
  operation->complete_request(used);
  finish_copies();
  return result;
}

MPI_Status* status_at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

int get_status_any(int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  using type = int(int, const MPI_Request[], int*, int*, MPI_Status*);
  if (!any_staged()) return real<type>(id_Request_get_status_any)(count, requests, index, flag, status);
  int num_live = 0;
  *index = MPI_UNDEFINED;
  *flag = 0;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == mpi.request_null) continue;
    ++num_live;
    const int result = get_status(requests[i], flag, status);
    if (*flag != 0) *index = i;
    if (*flag != 0 || result != MPI_SUCCESS) return result;
  }
  return num_live > 0 ? MPI_SUCCESS : real<type>(id_Request_get_status_any)(count, requests, index, flag, status);
}

int get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status* statuses) {
  using type = int(int, const MPI_Request[], int*, MPI_Status*);
  if (!any_staged()) return real<type>(id_Request_get_status_all)(count, requests, flag, statuses);
  *flag = 1;
  for (int i = 0; i < count && *flag != 0; ++i) {
    const int result = get_status(requests[i], flag, status_at(statuses, i));
    if (result != MPI_SUCCESS) return result;
  }
  return MPI_SUCCESS;
}

int get_status_some(int count, const MPI_Request requests[], int* num_done, int indices[], MPI_Status* statuses) {
  using type = int(int, const MPI_Request[], int*, int[], MPI_Status*);
  if (!any_staged()) return real<type>(id_Request_get_status_some)(count, requests, num_done, indices, statuses);
  int num_live = 0;
  *num_done = 0;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == mpi.request_null) continue;
    ++num_live;
    int flag = 0;
    const int result = get_status(requests[i], &flag, status_at(statuses, *num_done));
    if (result != MPI_SUCCESS) return result;
    if (flag != 0) indices[(*num_done)++] = i;
  }
  if (num_live == 0) *num_done = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

}  // namespace

void take_staged_inquiries(void** routines) {
  routines[id_Request_free] = reinterpret_cast<void*>(&request_free);
  routines[id_Request_get_status] = reinterpret_cast<void*>(&get_status);
  routines[id_Request_get_status_any] = reinterpret_cast<void*>(&get_status_any);
  routines[id_Request_get_status_all] = reinterpret_cast<void*>(&get_status_all);
  routines[id_Request_get_status_some] = reinterpret_cast<void*>(&get_status_some);
}

}  // namespace imbrex::sessions::IX_MPI
