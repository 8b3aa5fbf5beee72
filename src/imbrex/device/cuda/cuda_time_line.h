#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <mutex>

namespace imbrex {

/// A moment: when the GPU passed the event, the host's clock was there, or some microseconds further.
struct cuda_anchor {
  std::shared_ptr<CUevent_st> event;  ///< with time; of that GPU
  std::int64_t at_ns = 0;
};

/// What all who measure times on one GPU count from. Events tell milliseconds as floats, so what is measured is counted
/// from a recent moment. Any thread.
class cuda_time_line {
 public:
  cuda_time_line() = default;
  ~cuda_time_line();
  cuda_time_line(const cuda_time_line&) = delete;
  cuda_time_line& operator=(const cuda_time_line&) = delete;

  /// The last moment, or a new one where that is more than half a second ago. The GPU is current. Throws
  /// `device_error`.
  cuda_anchor anchor();

 private:
  std::mutex mutex_;
  cudaStream_t stream_ = nullptr;  ///< in which nothing else is
  cuda_anchor last_;
};

}  // namespace imbrex
