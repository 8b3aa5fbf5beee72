// The processor's time stamp counter: what a measurement on the hot path costs least. That of ARM64 has a tick of 1 to
// 40 ns.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace imbrex::sessions {

#if defined(__x86_64__)
inline std::uint64_t ticks_now() { return __rdtsc(); }
#elif defined(__aarch64__)
inline std::uint64_t ticks_now() {
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#else
#error "the library is written for x86-64 and ARM64"
#endif

/// Nanoseconds per tick, measured from the loading of the library until now; waits 1 ms if that was just now.
double ns_per_tick();

/// Seconds of a monotonic clock.
double seconds_now();

}  // namespace imbrex::sessions
