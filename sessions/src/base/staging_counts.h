// How much stage copied, for the report.
#pragma once

#include <atomic>
#include <cstdint>

namespace imbrex::sessions {

extern std::atomic<std::uint64_t> staged_bytes_ __attribute__((visibility("hidden")));
inline std::uint64_t staged_bytes() { return staged_bytes_.load(std::memory_order_relaxed); }

}  // namespace imbrex::sessions
