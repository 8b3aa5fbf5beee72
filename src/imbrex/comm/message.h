#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "imbrex/async/work.h"
#include "imbrex/base/ids.h"
#include "imbrex/base/memory/slab.h"

namespace imbrex {

/// What stands in front of every message between ranks, in native byte order. All sizes are 64 bits.
struct wire_header {
  std::uint64_t size = 0;           ///< bytes of payload that follow
  std::uint64_t flow = 0;           ///< names this message in a trace; 0 when not traced
  std::uint32_t handler : 31 = 0;   ///< which function of the object layer takes it
  std::uint32_t is_parted : 1 = 0;  ///< large arrays of it travel beside it
  pe_id to = no_pe;
  pe_id from = no_pe;
  std::int8_t level = 0;      ///< priority::value
  std::uint8_t turn[3] = {};  ///< the transport's own: the how-manieth of its pair of PEs
};
static_assert(sizeof(wire_header) == 32);

/// A message in the form that crosses between ranks: header and payload contiguous in one block of the slab.
/// Whoever holds the pointer owns it. As `work` it can stand in a PE's inbox.
struct wire_message : work {
  alignas(16) wire_header header;

  /// A message with room for `size` bytes of payload, uninitialised.
  static wire_message* make(std::uint64_t size) {
    auto* m = new (slab::allocate(sizeof(wire_message) + size)) wire_message;
    m->header.size = size;
    return m;
  }
  static void destroy(wire_message* m) { slab::free(m); }

  /// `header.size` bytes, aligned to 16.
  std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* payload() const { return reinterpret_cast<const std::byte*>(this + 1); }

  /// Header and payload as the contiguous bytes to send.
  std::byte* wire_bytes() { return reinterpret_cast<std::byte*>(&header); }
  std::uint64_t wire_size() const { return sizeof(wire_header) + header.size; }
};
static_assert(sizeof(wire_message) == 64, "header and payload must be contiguous, the payload aligned to 16");

}  // namespace imbrex
