#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/device/cuda/cuda_gpu.h"
#include "imbrex/device/usage_meter.h"

namespace imbrex {

/// A PE's time stamps around operations of GPUs: events with time, before and behind. The runtime's own operations, and
/// what is captured into a graph, have none; the run of a graph is one operation. For the PE's thread.
class cuda_meter {
 public:
  explicit cuda_meter(executor& pe) : pe_(pe) {}
  ~cuda_meter();
  cuda_meter(const cuda_meter&) = delete;
  cuda_meter& operator=(const cuda_meter&) = delete;

  void measure(std::size_t most);
  std::vector<device_operation> measured();

  bool is_measuring() const { return left_ > 0; }
  /// Around the enqueueing of an operation; whether it is measured.
  bool begin(cuda_gpu& gpu, cudaStream_t s);
  void end(cudaStream_t s);

 private:
  struct stamps {
    const actor* of;
    cuda_gpu* gpu;
    cudaEvent_t begin, end;
  };
  cudaEvent_t take(cuda_gpu& gpu);
  void forget();

  executor& pe_;
  std::size_t left_ = 0;
  std::vector<stamps> taken_;
  struct of_gpu {
    cuda_anchor anchor;
    std::vector<cudaEvent_t> spare;
  };
  std::map<cuda_gpu*, of_gpu> gpus_;
};

}  // namespace imbrex
