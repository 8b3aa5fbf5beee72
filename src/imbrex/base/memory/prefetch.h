#pragma once

#include <cstdint>

namespace imbrex {

/// Asks for the cache line at `p` to be owned by this core soon; any address, also one that is not mapped. The builtin
/// alone asks for a shared copy on x86 without further flags, and the store then waits for the other core once more.
inline void prefetch_for_write(const void* p) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}

/// The cache line after the one at `p`, which may be null: an address to prefetch, not to use.
inline const void* next_line(const void* p) {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + 64);
}

}  // namespace imbrex
