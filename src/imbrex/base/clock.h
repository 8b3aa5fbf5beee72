#pragma once

#include <chrono>
#include <cstdint>

namespace imbrex {

/// Nanoseconds of the monotonic clock, whose zero is arbitrary but common to all processes of one host.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
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
