// The device buffers of one call, from its beginning until the MPI is done with them.
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>

#include "routines/thread_state.h"
#include "staging/staged_buffer.h"

namespace imbrex::sessions::IX_MPI {

class staged_operation {
 public:
  /// In the order of the call's arguments. Copies nothing yet.
  explicit staged_operation(std::initializer_list<buffer> buffers);

  /// Whether any of them is device memory.
  bool staged() const;

  const void* address_for(int i, const void* given) const { return buffers_[i].address_for(given); }

  /// Begins a turn of the operation: brings to the host what it reads, and waits for that.
  void begin();

  /// The MPI is done: starts to copy back what it filled. Once for each turn, by whichever thread finds out first: true
  /// for that one, which must call finished() after its copies are finished. The others wait for it. The operation must
  /// be kept until then. `status`: null where the call has none.
  bool complete(MPI_Status* status);
  /// The same with the status of a request: a receive may have been cancelled. (Those of blocking calls need not tell.)
  bool complete_request(MPI_Status* status);
  /// Of a partitioned message: as staged_buffer has them.
  bool in_parts() const { return in_parts_; }
  void refresh_part(int part) { buffers_[0].refresh_part(part); }
  void return_part(int part);

  void finished() { set(phase::idle); }
  void wait_until_finished() const { phase_.wait(phase::returning, std::memory_order_acquire); }

  /// The turn ends without results.
  void abandon() { set(phase::idle); }
  bool active() const { return phase_.load(std::memory_order_acquire) != phase::idle; }

 private:
  enum class phase { idle, under_way, returning };

  bool return_buffers(std::size_t arrived);
  void set(phase p) {
    phase_.store(p, std::memory_order_release);
    phase_.notify_all();
  }

  staged_buffer buffers_[max_noted];
  int num_buffers_ = 0;
  bool in_parts_ = false;
  std::atomic<phase> phase_{phase::idle};
};

using staged_pointer = std::shared_ptr<staged_operation>;

}  // namespace imbrex::sessions::IX_MPI
