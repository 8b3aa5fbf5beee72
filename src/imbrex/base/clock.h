#pragma once

#include <time.h>

#include <cstdint>

namespace imbrex {

/// Nanoseconds of the monotonic clock, whose zero is arbitrary but common to all processes of one host.
inline std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // as std::chrono::steady_clock, whose header every user would compile
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// A counter that grows steadily, some thousands per microsecond: cheaper than `now_ns`, for rough limits only.
inline std::uint64_t cycle_count() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(now_ns()) * 3;
#endif
}

/// One hint to the core that this is a spin loop.
inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace imbrex
