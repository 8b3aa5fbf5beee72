// Kinds of memory, as far as what is asked about a buffer differs.
#pragma once

#include <cstdint>

namespace imbrex::sessions {

enum class memory_kind : std::uint8_t { host, pinned, device, managed };
constexpr int num_memory_kinds = 4;

inline const char* name_of(memory_kind kind) {
  constexpr const char* names[num_memory_kinds] = {"host", "pinned", "device", "managed"};
  return names[static_cast<int>(kind)];
}

}  // namespace imbrex::sessions
