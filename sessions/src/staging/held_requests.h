// Operations that go on after their calls returned, until a request completes.
#pragma once

#include "base/held_table.h"
#include "staging/completed_operations.h"

namespace imbrex::sessions::IX_MPI {

struct held_request {
  staged_pointer operation;
  bool persistent = false;    ///< else it is gone when it completes
  std::uintptr_t window = 0;  ///< of a one-sided operation, which is complete with its request or with its window
};

/// Of a nonblocking call to `w` that just returned `request`. One that is complete already is copied back at once: such
/// handles may stand for several operations.
void hold_until_complete(MPI_Request request, staged_pointer operation, where w);
void hold_persistent(MPI_Request request, staged_pointer operation);

/// Before MPI_Start of `request`: what it reads is brought to the host. Nothing for one that is not staged.
void begin_persistent(MPI_Request request);

/// For what does not free the request. Null where it is not staged.
staged_pointer staged_of(MPI_Request request);

/// The partitioned message of a request, also while another thread waits for or tests it. Null where it is not staged.
staged_pointer partitioned_of(MPI_Request request);

/// The staged ones among the requests of a call that may free them: taken before the MPI is called, and in the end put
/// back where they go on. Those whose handles the MPI set to null without completing them are abandoned.
class taken_requests {
 public:
  taken_requests(int count, MPI_Request* requests);
  ~taken_requests();
  taken_requests(const taken_requests&) = delete;
  taken_requests& operator=(const taken_requests&) = delete;

  bool empty() const { return entries_.empty(); }

  /// The call ended with `result` for requests[i]; MPI_UNDEFINED for none of them. `status` is of this request. A
  /// failure ends the turn of an operation only where the MPI has the request under way no more.
  void note_result(int result, int i, MPI_Status* status);
  /// Of a call for several requests. Where one failed, the statuses tell which; others may go on.
  void note_result_among(int result, int i, MPI_Status* status);

 private:
  using entry = held_table<held_request>::taken_entry;

  void complete(entry& e, MPI_Status* status);

  MPI_Request* requests_;
  std::vector<entry> entries_;  ///< by their places among the requests, unless none is staged
  completed_operations completed_;
};

/// MPI_Request_free of a staged request. One that is under way is kept, and looked after in later calls, until the MPI
/// is done with it; true then, and the handle is null. Else the MPI is to free it.
bool take_freed(MPI_Request* request);

}  // namespace imbrex::sessions::IX_MPI
