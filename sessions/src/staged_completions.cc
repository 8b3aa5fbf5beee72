// Waits and tests. Without staged requests they are the MPI's own.
#include <utility>
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

/// The handles before the MPI changed them, and the operations whose copies completions started.
class completions {
 public:
  completions(int count, const MPI_Request* requests) : before_(requests, requests + (count > 0 ? count : 0)) {}
  ~completions() {
    if (!held_.empty()) finish_copies();
  }
  completions(const completions&) = delete;
  completions& operator=(const completions&) = delete;

  void complete(int i, MPI_Request* after, MPI_Status* status, bool failed = false) {
    staged_pointer done = complete_held(before_[static_cast<std::size_t>(i)], after, status, failed);
    if (done != nullptr) held_.push_back(std::move(done));
  }

  /// Of a call for several requests. Where one failed, the statuses tell which; others may go on.
  void complete_of(int result, int i, MPI_Request* after, MPI_Status* status) {
    const bool some_failed = result == MPI_ERR_IN_STATUS;
    if (some_failed && status->MPI_ERROR == MPI_ERR_PENDING) return;
    complete(i, after, status, some_failed && status->MPI_ERROR != MPI_SUCCESS);
  }

 private:
  std::vector<MPI_Request> before_;
  std::vector<staged_pointer> held_;
};

bool has_results(int result) { return result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS; }

/// A status that can be read, whatever the program gave.
class readable_status {
 public:
  explicit readable_status(MPI_Status* given) : used_(given == MPI_STATUS_IGNORE ? &own_ : given) {}
  MPI_Status* get() { return used_; }

 private:
  MPI_Status own_;
  MPI_Status* used_;
};

int wait(MPI_Request* request, MPI_Status* status) {
  auto* function = real<int(MPI_Request*, MPI_Status*)>(id_Wait);
  if (here.depth > 1 || staged_of(*request) == nullptr) return function(request, status);
  completions done(1, request);
  readable_status s(status);
  const int result = function(request, s.get());
  done.complete(0, request, s.get(), result != MPI_SUCCESS);
  return result;
}

/// One after another: while a message is waited for, the one before is copied to the device.
int waitall(int count, MPI_Request requests[], MPI_Status* statuses) {
  if (here.depth > 1 || !any_staged())
    return real<int(int, MPI_Request[], MPI_Status*)>(id_Waitall)(count, requests, statuses);
  completions done(count, requests);
  const bool ignored = statuses == MPI_STATUSES_IGNORE;
  int failed = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    readable_status s(ignored ? MPI_STATUS_IGNORE : &statuses[i]);
    const int result = real<int(MPI_Request*, MPI_Status*)>(id_Wait)(&requests[i], s.get());
    done.complete(i, &requests[i], s.get(), result != MPI_SUCCESS);
    if (!ignored) statuses[i].MPI_ERROR = result;
    if (result != MPI_SUCCESS) failed = MPI_ERR_IN_STATUS;
  }
  return failed;
}

int waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  auto* function = real<int(int, MPI_Request[], int*, MPI_Status*)>(id_Waitany);
  if (here.depth > 1 || !any_staged()) return function(count, requests, index, status);
  completions done(count, requests);
  readable_status s(status);
  const int result = function(count, requests, index, s.get());
  if (result == MPI_SUCCESS && *index != MPI_UNDEFINED) done.complete(*index, &requests[*index], s.get());
  return result;
}

int some(routine_id id, int count, MPI_Request requests[], int* num_done, int indices[], MPI_Status* statuses) {
  auto* function = real<int(int, MPI_Request[], int*, int[], MPI_Status*)>(id);
  if (here.depth > 1 || !any_staged()) return function(count, requests, num_done, indices, statuses);
  completions done(count, requests);
  auto* own = statuses == MPI_STATUSES_IGNORE ? new MPI_Status[static_cast<std::size_t>(count) + 1] : statuses;
  const int result = function(count, requests, num_done, indices, own);
  for (int i = 0; has_results(result) && *num_done != MPI_UNDEFINED && i < *num_done; ++i) {
    done.complete_of(result, indices[i], &requests[indices[i]], &own[i]);
  }
  if (statuses == MPI_STATUSES_IGNORE) delete[] own;
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
  if (here.depth > 1 || staged_of(*request) == nullptr) return function(request, flag, status);
  completions done(1, request);
  readable_status s(status);
  const int result = function(request, flag, s.get());
  if (result == MPI_SUCCESS && *flag != 0) done.complete(0, request, s.get());
  return result;
}

int testall(int count, MPI_Request requests[], int* flag, MPI_Status* statuses) {
  auto* function = real<int(int, MPI_Request[], int*, MPI_Status*)>(id_Testall);
  if (here.depth > 1 || !any_staged()) return function(count, requests, flag, statuses);
  completions done(count, requests);
  auto* own = statuses == MPI_STATUSES_IGNORE ? new MPI_Status[static_cast<std::size_t>(count) + 1] : statuses;
  const int result = function(count, requests, flag, own);
  const bool ended = result == MPI_ERR_IN_STATUS || (result == MPI_SUCCESS && *flag != 0);
  for (int i = 0; ended && i < count; ++i) done.complete_of(result, i, &requests[i], &own[i]);
  if (statuses == MPI_STATUSES_IGNORE) delete[] own;
  return result;
}

int testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  auto* function = real<int(int, MPI_Request[], int*, int*, MPI_Status*)>(id_Testany);
  if (here.depth > 1 || !any_staged()) return function(count, requests, index, flag, status);
  completions done(count, requests);
  readable_status s(status);
  const int result = function(count, requests, index, flag, s.get());
  const bool one = result == MPI_SUCCESS && *flag != 0 && *index != MPI_UNDEFINED;
  if (one) done.complete(*index, &requests[*index], s.get());
  return result;
}

}  // namespace

void take_staged_completions(void** routines) {
  routines[id_Wait] = reinterpret_cast<void*>(&wait);
  routines[id_Waitall] = reinterpret_cast<void*>(&waitall);
  routines[id_Waitany] = reinterpret_cast<void*>(&waitany);
  routines[id_Waitsome] = reinterpret_cast<void*>(&waitsome);
  routines[id_Test] = reinterpret_cast<void*>(&test);
  routines[id_Testall] = reinterpret_cast<void*>(&testall);
  routines[id_Testany] = reinterpret_cast<void*>(&testany);
  routines[id_Testsome] = reinterpret_cast<void*>(&testsome);
}

}  // namespace imbrex::sessions::IX_MPI
