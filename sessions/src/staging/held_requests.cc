#include "staging/held_requests.h"

#include <utility>

#include "routines/real_routine.h"
#include "staging/freed_requests.h"
#include "staging/held_accesses.h"

namespace imbrex::sessions::IX_MPI {

namespace {

held_table<held_request>& all_requests() {
  static auto* made = new held_table<held_request>;  // outlives the last MPI call
  return *made;
}

/// Of requests until they are freed: threads hand over parts while others have taken the request to test it.
held_table<staged_pointer>& partitioned() {
  static auto* made = new held_table<staged_pointer>;
  return *made;
}

bool is_complete(MPI_Request request, MPI_Status& status) {
  int flag = 0;
  auto* ask = real<int(MPI_Request, int*, MPI_Status*)>(id_Request_get_status);
  return ask(request, &flag, &status) == MPI_SUCCESS && flag != 0;
}

}  // namespace

void hold_until_complete(MPI_Request request, staged_pointer operation, where w) {
  MPI_Status status;
  if (is_complete(request, status)) {
    completed_operations done;
    done.add_request(operation, &status);
    return;
  }
  if (w.is_window) hold_until_synchronised(w, operation);
  all_requests().put(value_of(request), {std::move(operation), false, w.is_window ? w.handle : 0});
}

void hold_persistent(MPI_Request request, staged_pointer operation) {
  if (operation->in_parts()) partitioned().put(value_of(request), operation);
  all_requests().put(value_of(request), {std::move(operation), true, 0});
}

staged_pointer partitioned_of(MPI_Request request) {
  const std::vector<staged_pointer> seen =
      partitioned().see(value_of(request), [](const staged_pointer&) { return true; });
  return seen.empty() ? nullptr : seen.front();
}

void begin_persistent(MPI_Request request) {
  const staged_pointer operation = staged_of(request);
  if (operation != nullptr) operation->begin();
}

staged_pointer staged_of(MPI_Request request) {
  const std::vector<held_request> seen =
      all_requests().see(value_of(request), [](const held_request&) { return true; });
  return seen.empty() ? nullptr : seen.front().operation;
}

taken_requests::taken_requests(int count, MPI_Request* requests) : requests_(requests) {
  if (all_requests().empty()) return;
  for (int i = 0; i < count; ++i) {
    entry taken = requests[i] == mpi.request_null ? entry() : all_requests().take(value_of(requests[i]));
    if (taken.empty()) continue;
    entries_.resize(static_cast<std::size_t>(count));
    entries_[static_cast<std::size_t>(i)] = std::move(taken);
  }
}

taken_requests::~taken_requests() {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entry& e = entries_[i];
    if (e.empty()) continue;
    if (requests_[i] != mpi.request_null) {
      all_requests().put_back(std::move(e));
      continue;
    }
    e.mapped().operation->abandon();
    leave_window(e.mapped().window, e.mapped().operation);
  }
}

void taken_requests::complete(entry& e, MPI_Status* status) {
  const held_request& held = e.mapped();
  completed_.add_request(held.operation, status);
  if (held.persistent) return;
  leave_window(held.window, held.operation);
  e = entry();
}

void taken_requests::note_result(int result, int i, MPI_Status* status) {
  if (i < 0 || static_cast<std::size_t>(i) >= entries_.size()) return;
  entry& e = entries_[static_cast<std::size_t>(i)];
  if (e.empty()) return;
  if (result == MPI_SUCCESS) return complete(e, status);
  MPI_Status ignored;
  const bool goes_on = requests_[i] != mpi.request_null && !is_complete(requests_[i], ignored);
  if (!goes_on) e.mapped().operation->abandon();
}

void taken_requests::note_result_among(int result, int i, MPI_Status* status) {
  if (result == MPI_SUCCESS) note_result(MPI_SUCCESS, i, status);
  if (result != MPI_ERR_IN_STATUS || status->MPI_ERROR == MPI_ERR_PENDING) return;
  note_result(status->MPI_ERROR, i, status);
}

bool take_freed(MPI_Request* request) {
  partitioned().take(value_of(*request));
  held_table<held_request>::taken_entry taken = all_requests().take(value_of(*request));
  if (taken.empty() || !taken.mapped().operation->active()) return false;
  look_after(*request, std::move(taken.mapped()));
  *request = mpi.request_null;
  return true;
}

}  // namespace imbrex::sessions::IX_MPI
