#pragma once

#include <cstdint>
#include <string_view>

namespace imbrex {

/// How data go to another process: by their size and kind, unless one way was asked for (`--imbrex-protocol`).
/// The sizes are those of `imbrex tune`, or these.
struct protocol_table {
  enum class way : std::uint8_t {
    automatic,
    packed,  ///< inside the message, whatever the size; a device's memory through pinned memory
    staged,  ///< a device's memory through pinned memory, in pieces; memory of the host apart from the message
    direct,  ///< by the transport from where they are
    shared,  ///< a GPU reads another process's GPU memory where it is
  };
  static constexpr way parse(std::string_view name) {
    return name == "packed"   ? way::packed
           : name == "staged" ? way::staged
           : name == "direct" ? way::direct
           : name == "shared" ? way::shared
                              : way::automatic;
  }
  way forced = way::automatic;
  std::uint64_t packed_host_bytes = 16 << 10;   ///< up to so many travel inside the message
  std::uint64_t packed_device_bytes = 8 << 10;  ///< the same of a device's memory
  std::uint64_t chunk_bytes = 1 << 20;          ///< pieces of staged data
};

}  // namespace imbrex
