#pragma once

#include <cuda_runtime_api.h>

#include "imbrex/device/cuda_gpu.h"
#include "imbrex/device/event.h"

namespace imbrex {

/// A point in a stream of a GPU. Other streams, of any GPU of the process, wait for it on the GPU.
class cuda_event final : public event_state {
 public:
  explicit cuda_event(cuda_gpu& gpu) : gpu_(gpu), native_(gpu.take_event()) {}
  ~cuda_event() override { gpu_.give_back_event(native_); }
  cuda_event(const cuda_event&) = delete;
  cuda_event& operator=(const cuda_event&) = delete;

  /// Asks the driver, which takes about a microsecond. An event whose GPU has failed counts as complete: whoever waits
  /// for it will see the failure.
  bool complete() const override { return cudaEventQuery(native_) != cudaErrorNotReady; }
  cudaEvent_t native() const { return native_; }

 private:
  cuda_gpu& gpu_;
  cudaEvent_t native_;
};

}  // namespace imbrex
