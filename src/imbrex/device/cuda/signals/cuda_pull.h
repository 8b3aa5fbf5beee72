#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "imbrex/device/cuda/signals/cuda_mark.h"

namespace imbrex {

/// One kernel that waits for another GPU's word, copies what lies there, and tells that it has: three operations of a
/// stream in one, which saves what a GPU takes to go from one to the next.
struct cuda_pull {
  /// More than any number that is waited for; the driver compares by the sign of the difference, so half of the
  /// largest.
  static constexpr unsigned long long beyond_all = 1ULL << 62;
  /// Thread blocks that suit so many bytes.
  static constexpr unsigned blocks_for(std::size_t bytes) {
    constexpr std::size_t bytes_of_block = 4096, most = 32;
    const std::size_t wanted = (bytes + bytes_of_block - 1) / bytes_of_block;
    return static_cast<unsigned>(wanted < most ? wanted : most);
  }

  const unsigned long long* ready = nullptr;  ///< null: nothing is waited for
  unsigned long long ready_value = 0;
  const unsigned long long* give_up = nullptr;  ///< in pinned memory: `beyond_all` means that nobody waits any more
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  unsigned blocks = 1;  ///< of threads
  kernel_mark mark;  ///< of the stream; its counter is there even if the host is told otherwise; null: nobody is told
  unsigned long long* word = nullptr;  ///< of the stream
  unsigned long long word_value = 0;

  /// On the current GPU, of which it takes a small part while it waits. What `ready` waits for must have been enqueued
  /// before.
  cudaError_t launch(cudaStream_t s) const;
};

}  // namespace imbrex
