// Pointer queries: those that the MPI makes, those that inject makes, and the answers that elide gives for the driver.
#pragma once

#include <cstdint>

#include "base/declaration.h"
#include "driver/kind_query.h"
#include "routines/thread_state.h"

namespace imbrex::sessions {

/// Sets up what inject asks: the driver with a context, or the delay. Once, at the start of the program's MPI.
void start_injecting();

/// What a query takes in a loop here, where start_injecting() measured it: in the mode kinds, with the driver.
query_cost cost_in_loop();

/// One query as a CUDA-aware MPI would make it of a buffer, before the MPI's own routine.
void inject_query(const void* buffer);

/// Verify mode: ends the process when a noted buffer is not where it was declared to be, naming routine and buffer.
void check_noted();

/// Where the driver says that an address lies; the host's where there is no driver. Not counted.
place place_by_driver(std::uint64_t address);

/// The same from what is known of live allocations where that is sure, else by the driver.
place place_of(const void* address);

/// The allocation that a device address lies in, from what is known or by the driver; where neither tells, of no end.
struct memory_range {
  std::uint64_t start = 0, end = ~std::uint64_t{0};
};
memory_range range_of(const void* address);

/// Whether copies of the driver's to that device memory are over when they return; only where that is known for sure.
bool copies_are_synchronous(const void* address);

/// IMBREX_SESSIONS_PATTERN, for handles that are not declared.
extern declaration default_declaration __attribute__((visibility("hidden")));

}  // namespace imbrex::sessions
