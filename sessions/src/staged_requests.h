// Requests whose buffers are staged: what is left to do when they start and when they complete.
#pragma once

#include <vector>

#include "staged_buffer.h"

namespace imbrex::sessions::IX_MPI {

enum class staged_kind {
  send,               ///< of Isend: a persistent request of the MPI's, freed when it completes
  receive,            ///< of Irecv
  persistent_send,    ///< of Send_init
  persistent_receive  ///< of Recv_init
};

/// Keeps the buffer until the request is gone. A `send` waits for its copy, which was started just before.
void add_staged_request(MPI_Request request, staged_kind kind, staged_buffer buffer);

/// Starts the sends that wait for their copies, in order.
void start_waiting_sends();

/// Before MPI_Start of `request`: what it sends is brought to the host.
void refresh_staged(MPI_Request request);

/// Whether any request is staged; then completions go one by one.
bool any_staged();
bool is_staged(MPI_Request request);

/// After the MPI completed `before` with `status`: starts to copy back what was received. `after`, the program's
/// handle, is set to null for what is not persistent. What is still being copied goes to `held`, to be kept until the
/// copies are finished, which must be before the program gets control.
void complete_staged(MPI_Request before, MPI_Request* after, MPI_Status* status, std::vector<staged_buffer>& held);

/// A request that the program frees; false when it is staged and under way.
bool forget_staged(MPI_Request request);

}  // namespace imbrex::sessions::IX_MPI
