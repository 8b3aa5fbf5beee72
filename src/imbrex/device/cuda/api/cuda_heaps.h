#pragma once

#include <cstddef>

namespace imbrex {

/// Tells NVIDIA's tools of slabs of a GPU's memory and of the parts in use (NVTX's extension for memory, of CUDA 13
/// on), so that `compute-sanitizer` finds what goes beyond a buffer, though its neighbours are of the same
/// slab. Without a tool, and without the extension, nothing is kept and each call costs a load. Any thread.
class cuda_heaps {
 public:
  static void add(void* slab, std::size_t bytes);
  static void remove(void* slab) noexcept;
  /// Parts of slabs that were added. A part is known by its address.
  static void hand_out(void* part, std::size_t bytes);
  static void take_back(void* part) noexcept;
};

}  // namespace imbrex
