#pragma once

#include <cuda_runtime_api.h>

#include "imbrex/device/cuda/cuda_gpu.h"
#include "imbrex/device/cuda/signals/cuda_word.h"
#include "imbrex/device/event.h"

namespace imbrex {

/// A point in a stream of a GPU. Other streams, of any GPU of the process, wait for it on the GPU.
class cuda_event final : public event_state {
 public:
  /// Of this process: an event of CUDA, to be recorded by who makes it, and, for streams of other GPUs, a word.
  explicit cuda_event(cuda_gpu& gpu, stream_position at, cuda_word_point word = {})
      : event_state(at), gpu_(gpu), native_(gpu.take_event()), word_(word) {}
  /// A word and no event of CUDA: of another process, which `gpu` reaches, or written by a kernel of `gpu`.
  struct by_word_only {
    cuda_word_point word;
  };
  cuda_event(cuda_gpu& gpu, stream_position at, by_word_only point) : event_state(at), gpu_(gpu), word_(point.word) {}
  ~cuda_event() override {
    if (native_ != nullptr) gpu_.give_back_event(native_);
  }
  cuda_event(const cuda_event&) = delete;
  cuda_event& operator=(const cuda_event&) = delete;

  /// Asks the driver, which takes about a microsecond, or by a word some more. An event whose GPU has
  /// failed counts as complete: whoever waits for it will see the failure.
  bool complete() const override {
    if (native_ != nullptr) {
      const bool done = cudaEventQuery(native_) != cudaErrorNotReady;
      if (!done) static_cast<void>(cudaGetLastError());  // not to be found by a user's own check
      return done;
    }
    return gpu_.read_word(word_.at) >= word_.value;
  }
  /// May be null: there is a word.
  cudaEvent_t native() const { return native_; }
  const cuda_word_point& word() const { return word_; }
  const cuda_gpu& gpu() const { return gpu_; }

 private:
  cuda_gpu& gpu_;
  cudaEvent_t native_ = nullptr;
  cuda_word_point word_;
};

}  // namespace imbrex
