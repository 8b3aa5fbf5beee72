#pragma once

#include <cstdint>

namespace imbrex {

/// A number in a GPU's memory that one stream at a time counts up, and that streams of other GPUs and other processes
/// wait for: 5 us sooner than for events of CUDA where a kernel waits (`cuda_pull`; two H200s).
struct cuda_word {
  unsigned long long* at = nullptr;
  unsigned long long last = 0;  ///< what it will be when all that is enqueued has finished; never goes back
};

/// A point in a stream by such a number.
struct cuda_word_point {
  const unsigned long long* at = nullptr;  ///< null: none
  unsigned long long value = 0;
  std::uint64_t of = 0;  ///< which GPU's memory that is: `cuda_gpu::identity`
};

}  // namespace imbrex
