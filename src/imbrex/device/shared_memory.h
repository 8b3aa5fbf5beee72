#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace imbrex {

/// A device's name for an allocation, which other processes of the machine open.
struct shared_handle {
  std::array<std::byte, 64> bytes{};
  std::uint8_t size = 0;         ///< of what is used of it; 0: there is none
  std::uint64_t of = 0;          ///< tells the machine's devices apart
  std::uint64_t allocation = 0;  ///< tells it from all others, also from those that lay at its address before

  bool empty() const { return size == 0; }
  auto operator<=>(const shared_handle&) const = default;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & size;
    if (size == 0) return;
    ar & of & allocation;
    ar.bytes(bytes.data(), size <= bytes.size() ? size : bytes.size());
  }
};

/// What a device of a process has shared and given back since: told with what it shares, so that others let it go.
struct dropped_allocations {
  static constexpr std::size_t most = 8;
  std::uint64_t owner = 0;                 ///< tells devices of processes apart
  std::uint32_t total = 0;                 ///< how many in all
  std::array<std::uint64_t, most> last{};  ///< by `shared_handle::allocation`; the n-th stands at n % most

  template <class Archive>
  void serialize(Archive& ar) {
    ar & total;
    if (total == 0) return;
    ar & owner;
    for (std::size_t i = 0; i < most && i < total; ++i) ar& last[i];
  }
};

/// Memory of a device as another process of the machine is told of it, to read it where it is.
struct shared_memory {
  shared_handle handle;      ///< of the allocation it lies in
  std::uint64_t offset = 0;  ///< bytes from there
  dropped_allocations dropped;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & handle;
    if (!handle.empty()) ar & offset & dropped;
  }
};

/// A point in a device's stream that streams of other processes can wait for: a number of the device's memory will be
/// `value` or more.
struct shared_point {
  shared_memory word;
  std::uint64_t value = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & word;
    if (!word.handle.empty()) ar & value;
  }
};

}  // namespace imbrex
