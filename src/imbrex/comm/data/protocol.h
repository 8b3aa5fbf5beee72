#pragma once

#include <cstdint>
#include <string_view>

namespace imbrex {

/// How data go to another process: by their size and kind, unless one way was asked for (`--imbrex-protocol`).
/// The sizes are those that `imbrex tune` has measured and stored (`read_protocols`), or these.
struct protocol_table {
  enum class way {
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
  /// As a size up to which something is done: always.
  static constexpr std::uint64_t always = std::uint64_t{1} << 40;

  way forced = way::automatic;
  std::uint64_t packed_host_bytes = 4 << 10;  ///< up to so many travel inside the message
  std::uint64_t packed_device_bytes = 0;      ///< the same of a device's memory: never faster on H200s
  std::uint64_t chunk_bytes = 1 << 20;        ///< pieces of staged data
  std::uint64_t staged_device_bytes = 0;      ///< up to so many are staged though the transport reaches them
  std::uint64_t unshared_device_bytes = 0;    ///< up to so many are sent though the other GPU could read them in place

  bool operator==(const protocol_table&) const = default;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & forced & packed_host_bytes & packed_device_bytes & chunk_bytes & staged_device_bytes & unshared_device_bytes;
  }
};

/// As options and reports name it.
constexpr const char* to_string(protocol_table::way w) {
  switch (w) {
    case protocol_table::way::packed: return "packed";
    case protocol_table::way::staged: return "staged";
    case protocol_table::way::direct: return "direct";
    case protocol_table::way::shared: return "shared";
    case protocol_table::way::automatic: break;
  }
  return "auto";
}

}  // namespace imbrex
