// Answers pointer queries in the driver's place, with what the driver itself would say.
//
// Where an answer comes from, in this order:
//   1. the program declared of this buffer, in the MPI routine under way, that it is on the host, or on a device where
//      nothing but that is asked;
//   2. the address lies in a live allocation that the driver described when it was made;
//   3. the address lies in none, and every allocation was seen since the process started: ordinary host memory.
// What the driver says of ordinary host memory is not assumed but learned, once for each attribute, by asking it about
// a variable of the library's own. Everything else is the driver's to answer: other attributes, and all else after the
// watch became incomplete.
#pragma once

#include <cstdint>

#include <atomic>

#include "driver/driver.h"
#include "driver/driver_watch.h"
#include "routines/thread_state.h"

namespace imbrex::sessions {

enum class source : std::uint8_t { none, declared, cached, host };

/// The answer to cuPointerGetAttribute: `result` and, if that is 0, `data`. source::none: ask the driver.
source elide_attribute(const thread_state& thread, void* data, int attribute, std::uint64_t pointer, int& result);

/// The answer to cuPointerGetAttributes.
source elide_attributes(const thread_state& thread, unsigned count, const int* attributes, void** data,
                        std::uint64_t pointer, int& result);

/// What was declared of the address by the MPI routine under way on this thread.
inline place declared_place(const thread_state& thread, std::uint64_t pointer) {
  for (int i = 0; i < thread.num_noted; ++i) {
    if (reinterpret_cast<std::uint64_t>(thread.noted[i].address) == pointer) return thread.noted[i].where;
  }
  return place::unknown;
}

/// Where an address of which nothing was declared lies, as the next.
source elide_place_by_cache(std::uint64_t pointer, int& memory_type);

/// Where a buffer lies: CUmemorytype, or 0 for ordinary host memory (the driver's answer for that is learned).
inline source elide_place(const thread_state& thread, std::uint64_t pointer, int& memory_type) {
  memory_type = 0;
  const place declared = declared_place(thread, pointer);
  if (declared == place::device) memory_type = static_cast<int>(memory_device);
  if (declared != place::unknown) return source::declared;
  if (!live_allocations.is_unused()) return elide_place_by_cache(pointer, memory_type);
  return watch_is_complete() ? source::host : source::none;
}

/// What the driver says of the memory type of ordinary host memory. Readers look at `known` first.
struct learned_memory_type {
  std::atomic<bool> known{false};
  int result = 0;
  bool has_value = false;  ///< it writes one
  unsigned value = 0;
};
extern learned_memory_type host_memory_type __attribute__((visibility("hidden")));

}  // namespace imbrex::sessions
