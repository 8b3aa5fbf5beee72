// The device buffers of one call, from its beginning until the MPI is done with them.
#pragma once

#include <initializer_list>
#include <memory>

#include "staged_buffer.h"
#include "thread_state.h"

namespace imbrex::sessions::IX_MPI {

class staged_operation {
 public:
  /// In the order of the call's arguments. Copies nothing yet.
  staged_operation(where w, std::initializer_list<buffer> buffers);

  /// Whether any of them is device memory.
  bool staged() const;

  const void* address_for(int i, const void* given) const { return buffers_[i].address_for(given); }

  /// Begins a turn of the operation: brings to the host what it reads, and waits for that.
  void begin();
  /// The same, without waiting.
  copy_mark begin_copies();

  /// The MPI is done: starts to copy back what it filled. Once for each turn; whoever finds out first does it. The
  /// operation must be kept until the copies are finished. `status`: null where the call has none.
  void complete(MPI_Status* status);
  /// The same with the status of a request: a receive may have been cancelled. (Those of blocking calls need not tell.)
  void complete_request(MPI_Status* status);
  void abandon() { active_ = false; }
  bool active() const { return active_; }

 private:
  bool start_refreshes();
  void return_buffers(std::size_t arrived);

  staged_buffer buffers_[max_noted];
  int num_buffers_ = 0;
  bool active_ = false;
};

using staged_pointer = std::shared_ptr<staged_operation>;

}  // namespace imbrex::sessions::IX_MPI
