// Waits and tests. Without staged requests they are the MPI's own.
#include "base/readable_status.h"
#include "routines/real_routine.h"
#include "staging/held_requests.h"
#include "staging/staged_routines.h"

namespace imbrex::sessions::IX_MPI {

namespace {

int wait(MPI_Request* request, MPI_Status* status) {
  auto* function = real<int(MPI_Request*, MPI_Status*)>(id_Wait);
  if (here.depth > 1) return function(request, status);
  taken_requests taken(1, request);
  if (taken.empty()) return function(request, status);
  readable_status s(status);
  const int result = function(request, s.get());
  taken.note_result(result, 0, s.get());
  return result;
}

/// One after another: while a message is waited for, the one before is copied to the device.
int waitall(int count, MPI_Request requests[], MPI_Status* statuses) {
  auto* function = real<int(int, MPI_Request[], MPI_Status*)>(id_Waitall);
  if (here.depth > 1) return function(count, requests, statuses);
  taken_requests taken(count, requests);
  if (taken.empty()) return function(count, requests, statuses);
  readable_statuses s(count, statuses);
  int failed = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    const int result = real<int(MPI_Request*, MPI_Status*)>(id_Wait)(&requests[i], s.at(i));
    taken.note_result(result, i, s.at(i));
    s.at(i)->MPI_ERROR = result;
    if (result != MPI_SUCCESS) failed = MPI_ERR_IN_STATUS;
  }
  return failed;
}

int waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  auto* function = real<int(int, MPI_Request[], int*, MPI_Status*)>(id_Waitany);
  if (here.depth > 1) return function(count, requests, index, status);
  taken_requests taken(count, requests);
  if (taken.empty()) return function(count, requests, index, status);
  readable_status s(status);
  *index = MPI_UNDEFINED;  // where it fails without a word of which
  const int result = function(count, requests, index, s.get());
  taken.note_result(result, *index, s.get());
  return result;
}

int some(routine_id id, int count, MPI_Request requests[], int* num_done, int indices[], MPI_Status* statuses) {
  auto* function = real<int(int, MPI_Request[], int*, int[], MPI_Status*)>(id);
  if (here.depth > 1) return function(count, requests, num_done, indices, statuses);
  taken_requests taken(count, requests);
  if (taken.empty()) return function(count, requests, num_done, indices, statuses);
  readable_statuses s(count, statuses);
  *num_done = MPI_UNDEFINED;
  const int result = function(count, requests, num_done, indices, s.get());
  for (int i = 0; *num_done != MPI_UNDEFINED && i < *num_done; ++i)
    taken.note_result_among(result, indices[i], s.at(i));
  return result;
}

int waitsome(int count, MPI_Request requests[], int* num_done, int indices[], MPI_Status* statuses) {
  return some(id_Waitsome, count, requests, num_done, indices, statuses);
}

int testsome(int count, MPI_Request requests[], int* num_done, int indices[], MPI_Status* statuses) {
  return some(id_Testsome, count, requests, num_done, indices, statuses);
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  auto* function = real<int(MPI_Request*, int*, MPI_Status*)>(id_Test);
  if (here.depth > 1) return function(request, flag, status);
  taken_requests taken(1, request);
  if (taken.empty()) return function(request, flag, status);
  readable_status s(status);
  const int result = function(request, flag, s.get());
  if (result != MPI_SUCCESS || *flag != 0) taken.note_result(result, 0, s.get());
  return result;
}

int testall(int count, MPI_Request requests[], int* flag, MPI_Status* statuses) {
  auto* function = real<int(int, MPI_Request[], int*, MPI_Status*)>(id_Testall);
  if (here.depth > 1) return function(count, requests, flag, statuses);
  taken_requests taken(count, requests);
  if (taken.empty()) return function(count, requests, flag, statuses);
  readable_statuses s(count, statuses);
  const int result = function(count, requests, flag, s.get());
  const bool ended = result != MPI_SUCCESS || *flag != 0;
  for (int i = 0; ended && i < count; ++i) taken.note_result_among(result, i, s.at(i));
  return result;
}

int testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  auto* function = real<int(int, MPI_Request[], int*, int*, MPI_Status*)>(id_Testany);
  if (here.depth > 1) return function(count, requests, index, flag, status);
  taken_requests taken(count, requests);
  if (taken.empty()) return function(count, requests, index, flag, status);
  readable_status s(status);
  *index = MPI_UNDEFINED;
  const int result = function(count, requests, index, flag, s.get());
  if (result != MPI_SUCCESS || *flag != 0) taken.note_result(result, *index, s.get());
  return result;
}

}  // namespace

void take_staged_completions(void** routines) {
  enter(routines, id_Wait, &wait);
  enter(routines, id_Waitall, &waitall);
  enter(routines, id_Waitany, &waitany);
  enter(routines, id_Waitsome, &waitsome);
  enter(routines, id_Test, &test);
  enter(routines, id_Testall, &testall);
  enter(routines, id_Testany, &testany);
  enter(routines, id_Testsome, &testsome);
}

}  // namespace imbrex::sessions::IX_MPI
