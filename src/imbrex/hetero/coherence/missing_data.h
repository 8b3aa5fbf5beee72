#pragma once

#include <cstdint>

namespace imbrex {

/// Bytes that a task needs and a place does not have, by where they come from.
struct missing_data {
  std::uint64_t from_host = 0;
  std::uint64_t from_devices = 0;
  std::uint64_t moved =
      0;  ///< of those from devices: the task changes them, so that they are worth nothing there any more

  std::uint64_t bytes() const { return from_host + from_devices; }
  missing_data& operator+=(const missing_data& more) {
    from_host += more.from_host;
    from_devices += more.from_devices;
    moved += more.moved;
    return *this;
  }
};

}  // namespace imbrex
