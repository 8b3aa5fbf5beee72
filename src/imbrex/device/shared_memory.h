#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace imbrex {

/// Memory of a device as another process of the machine is told of it, to read it where it is.
struct shared_memory {
  std::vector<std::byte> handle;  ///< of the allocation it lies in
  std::uint64_t offset = 0;       ///< bytes from there
};

/// A point in a device's stream that a stream of another process can wait for.
struct shared_point {
  std::vector<std::byte> handle;
};

}  // namespace imbrex
