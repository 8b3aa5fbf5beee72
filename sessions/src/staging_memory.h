// Pinned memory and copies for stage; knows nothing of MPI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace imbrex::sessions {

/// A piece of pinned host memory, taken from a pool and given back.
struct pinned_memory {
  char* data = nullptr;
  std::size_t bytes = 0;  ///< as the pool has it, at least what was asked for
  explicit operator bool() const { return data != nullptr; }
};

/// Ends the process with a message where there is none.
pinned_memory take_pinned(std::size_t bytes);
void give_pinned(pinned_memory& memory);

/// In pieces, on the library's stream. Copies of one thread are done in their order.
void start_copy_to_host(void* to, const void* from, std::size_t bytes);
void start_copy_to_device(void* to, const void* from, std::size_t bytes);

/// Waits for all copies that this thread started.
void finish_copies();

/// A mark behind the copies started so far; waiting for it gives it back.
void* mark_copies();
void wait_for_mark(void* mark);

}  // namespace imbrex::sessions
