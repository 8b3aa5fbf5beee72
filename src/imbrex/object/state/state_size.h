#pragma once

#include <cstddef>
#include <cstdint>

namespace imbrex {

/// Bytes of an element's state, by where they are.
struct state_size {
  std::size_t on_host = 0;
  std::size_t on_devices = 0;
};

/// The same as it was when it was asked for last. It is asked for only where `serialize` may be called: between the
/// methods of an element that has no coroutines, and at the move points of one that has one.
struct known_size {
  state_size size;
  std::uint32_t asked = 0;  ///< when: `chare_pe::sizes_asked`
};

}  // namespace imbrex
