// What a program may ask of requests without completing them, and their freeing. A request that is found complete gives
// the program its buffers: what was received is copied back then, and only then. Which ones count is the MPI's to say.
#include "base/readable_status.h"
#include "routines/real_routine.h"
#include "staging/held_requests.h"
#include "staging/staged_routines.h"

namespace imbrex::sessions::IX_MPI {

namespace {

int request_free(MPI_Request* request) {
  if (here.depth == 1 && take_freed(request)) return MPI_SUCCESS;
  return real<int(MPI_Request*)>(id_Request_free)(request);
}

void copy_back(MPI_Request request, MPI_Status* status, completed_operations& done) {
  const staged_pointer operation = staged_of(request);
  if (operation != nullptr) done.add_request(operation, status);
}

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  auto* function = real<int(MPI_Request, int*, MPI_Status*)>(id_Request_get_status);
  if (here.depth > 1) return function(request, flag, status);
  readable_status s(status);
  completed_operations done;
  const int result = function(request, flag, s.get());
  if (result == MPI_SUCCESS && *flag != 0) copy_back(request, s.get(), done);
  return result;
}

int get_status_any(int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  auto* function = real<int(int, const MPI_Request[], int*, int*, MPI_Status*)>(id_Request_get_status_any);
  if (here.depth > 1) return function(count, requests, index, flag, status);
  readable_status s(status);
  completed_operations done;
  const int result = function(count, requests, index, flag, s.get());
  const bool one = result == MPI_SUCCESS && *flag != 0 && *index != MPI_UNDEFINED;
  if (one) copy_back(requests[*index], s.get(), done);
  return result;
}

int get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status* statuses) {
  auto* function = real<int(int, const MPI_Request[], int*, MPI_Status*)>(id_Request_get_status_all);
  if (here.depth > 1) return function(count, requests, flag, statuses);
  readable_statuses s(count, statuses);
  completed_operations done;
  const int result = function(count, requests, flag, s.get());
  const bool all = result == MPI_SUCCESS && *flag != 0;
  for (int i = 0; all && i < count; ++i) copy_back(requests[i], s.at(i), done);
  return result;
}

int get_status_some(int count, const MPI_Request requests[], int* num_done, int indices[], MPI_Status* statuses) {
  auto* function = real<int(int, const MPI_Request[], int*, int[], MPI_Status*)>(id_Request_get_status_some);
  if (here.depth > 1) return function(count, requests, num_done, indices, statuses);
  readable_statuses s(count, statuses);
  completed_operations done;
  const int result = function(count, requests, num_done, indices, s.get());
  const bool any = result == MPI_SUCCESS && *num_done != MPI_UNDEFINED;
  for (int i = 0; any && i < *num_done; ++i) copy_back(requests[indices[i]], s.at(i), done);
  return result;
}

}  // namespace

void take_staged_inquiries(void** routines) {
  enter(routines, id_Request_free, &request_free);
  enter(routines, id_Request_get_status, &get_status);
  enter(routines, id_Request_get_status_any, &get_status_any);
  enter(routines, id_Request_get_status_all, &get_status_all);
  enter(routines, id_Request_get_status_some, &get_status_some);
}

}  // namespace imbrex::sessions::IX_MPI
