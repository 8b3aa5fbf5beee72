#pragma once

#include "imbrex/async/executor.h"
#include "imbrex/device/cuda/cuda_completion.h"
#include "imbrex/device/cuda/cuda_device.h"
#include "imbrex/device/cuda/cuda_gpu.h"
#include "imbrex/device/stream.h"

namespace apps {

/// The GPU of one MPI rank, for the rank's thread and without chares: nothing of it can be awaited with `co_await`.
/// Streams and buffers of its device end before it does.
class mpi_gpu {
 public:
  /// `number` counts the GPUs that CUDA shows this process. Throws device_error.
  explicit mpi_gpu(int number);

  imbrex::device& device() { return device_; }
  const imbrex::cuda_gpu& gpu() const { return device_.gpu(); }

 private:
  imbrex::cuda_machine machine_;
  imbrex::executor queue_;  // always empty
  imbrex::cuda_completion completion_;
  imbrex::cuda_device device_;
};

/// Blocks until all that is enqueued in a stream of a GPU has finished. Throws device_error if it failed.
void synchronize(imbrex::stream& s);

}  // namespace apps
