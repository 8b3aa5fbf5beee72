// The processor's time stamp counter: what a measurement on the hot path costs least.
#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace imbrex::sessions {

inline std::uint64_t ticks_now() { return __rdtsc(); }

/// Nanoseconds per tick, measured from the loading of the library until now; waits 1 ms if that was just now.
double ns_per_tick();

/// Seconds of a monotonic clock.
double seconds_now();

}  // namespace imbrex::sessions
