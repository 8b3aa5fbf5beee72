// Pinned memory and copies for stage; knows nothing of MPI. A process may use several devices: memory and streams
// belong to the context of the device memory that they serve, whatever context the program has current.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/data_runs.h"

namespace imbrex::sessions {

/// A context of the driver's, with what stage made in it. Stays for ever: one that the program destroys is not used
/// again.
struct device_context;

/// The context that device memory belongs to; for memory that has none (of pools, mapped) the current one, or the
/// primary one of its device. Ends the process with a message where there is none.
device_context* context_of(const void* device_memory);

/// A piece of pinned host memory, taken from a pool and given back.
struct pinned_memory {
  char* data = nullptr;
  std::size_t bytes = 0;  ///< as the pool has it, at least what was asked for
  device_context* context = nullptr;
  explicit operator bool() const { return data != nullptr; }
};

/// Ends the process with a message where there is none.
pinned_memory take_pinned(std::size_t bytes, device_context* context);
void give_pinned(pinned_memory& memory);

/// In pieces, on a stream for each thread, context and direction, so that the two directions go on beside each other.
/// Copies of one thread in one direction and context are done in their order.
void start_copy_to_host(const pinned_memory& to, const void* from, std::size_t bytes);
void start_copy_to_device(void* to, const pinned_memory& from, std::size_t bytes);
/// The same for parts of two memories of the same layout: the pieces of a run go in one copy of the driver's, unless
/// they are too far apart for it.
void start_copies_to_host(const pinned_memory& to, const char* from, const std::vector<data_run>& runs);
void start_copies_to_device(char* to, const pinned_memory& from, const std::vector<data_run>& runs);

/// Waits for what the program put into its default streams there, also by copies that had not arrived when they
/// returned.
void wait_for_default_streams(device_context* context);

/// Waits for all copies that this thread started.
void finish_copies();

}  // namespace imbrex::sessions
