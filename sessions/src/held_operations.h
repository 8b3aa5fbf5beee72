// Operations that go on after their calls returned: what is left to do when they start, and when the program learns
// that they are complete, by a request, by a window's synchronisation or by the end of a split file access.
#pragma once

#include <vector>

#include "staged_operation.h"

namespace imbrex::sessions::IX_MPI {

enum class held_by {
  request,       ///< which is gone when it completes
  persistent,    ///< a request of the program's that is started and freed
  waiting_send,  ///< of Isend: a persistent request of the MPI's, started when its copy is done, freed when it
                 ///< completes
};

/// Of a nonblocking call that just returned `request`. One that is complete already is copied back at once: such
/// handles may stand for several operations.
void hold_until_complete(MPI_Request request, staged_pointer operation);
void hold_persistent(MPI_Request request, staged_pointer operation);
/// `mark`: behind the operation's copies.
void hold_waiting_send(MPI_Request request, staged_pointer operation, const copy_mark& mark);

/// Starts the sends that wait for their copies, in order.
void start_waiting_sends();

/// Before MPI_Start of `request`: what it reads is brought to the host. False if it is not staged.
bool begin_persistent(MPI_Request request);

/// Whether any request is staged; then completions go one by one.
bool any_staged();
/// Null where a request is not staged.
staged_pointer staged_of(MPI_Request request);

/// After the MPI completed `before` with `status`, or failed to: null where it is not staged. `after`, the program's
/// handle, is set to null for what is not persistent. The operation must be kept until the copies are finished, which
/// must be before the program gets control.
staged_pointer complete_held(MPI_Request before, MPI_Request* after, MPI_Status* status, bool failed);

/// MPI_Request_free of a staged request. One that is under way is kept, and looked after in later calls, until the MPI
/// is done with it; true then, and the handle is null. Else the MPI is to free it.
bool take_freed(MPI_Request* request);
/// Those that were freed under way: copies back what is complete; waits for all.
void look_after_freed();
void wait_for_freed();

/// Of a one-sided operation to `w.rank` in `w.handle`.
void hold_until_synchronised(where w, staged_pointer operation);
/// The window is synchronised with `rank`, or with all (any_rank): copies back, and waits for that.
constexpr int any_rank = -1000000;
void synchronised(MPI_Win win, int rank);

/// Of a split file access, of which a file has one at most.
void hold_until_end(std::uintptr_t file, staged_pointer operation);
staged_pointer take_split(MPI_File file);

}  // namespace imbrex::sessions::IX_MPI
