// What the library knows of the driver's memory, by having seen every allocation.
#pragma once

#include <atomic>

#include "driver/allocation_cache.h"

namespace imbrex::sessions {

/// Live allocations of the driver, kept where elide or stage is on.
extern allocation_cache live_allocations __attribute__((visibility("hidden")));

/// The first call after which the cache may not know all; null while it is.
extern std::atomic<const char*> incomplete_since __attribute__((visibility("hidden")));

/// Whether every allocation was seen, so that an address outside of live_allocations is ordinary host memory. It is
/// false from the first call after which that is not sure.
inline bool watch_is_complete() { return incomplete_since.load(std::memory_order_relaxed) == nullptr; }

/// That call's name, or "" while the watch is complete.
const char* why_incomplete();

/// Called when the library is loaded: a driver at work by then has memory that was never seen.
void start_watching();

}  // namespace imbrex::sessions

/// The library's own, which stands before the driver's: what it makes is watched like a program's.
extern "C" __attribute__((visibility("default"))) int cuMemAllocHost_v2(void** made, std::size_t bytes);
