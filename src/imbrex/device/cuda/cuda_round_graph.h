#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "imbrex/device/cuda/cuda_graph.h"
#include "imbrex/device/rounds/recorded_rounds.h"

namespace imbrex {

class cuda_gpu;

/// Recorded rounds as one CUDA graph over all their GPUs. A kernel comes after what its stream and what it waited for
/// says, and after nothing else. Launches of the same kernel that may be one (`kernel_batch`), of one GPU and at the
/// same distance from the beginning, are one.
class cuda_round_graph final : public cuda_graph {
 public:
  /// `order[i]`: which of the recorded rounds the i-th one is. All streams are of CUDA. Blocks for some microseconds a
  /// node. Throws `device_error`.
  static std::unique_ptr<cuda_round_graph> of(const recorded_rounds& r, const std::vector<std::size_t>& order);

  /// Memory of a GPU, for arguments of launches that became one.
  struct argument_memory {
    cuda_gpu* gpu;
    void* at;
  };
  cuda_round_graph(cudaGraph_t native, std::vector<argument_memory> arguments)
      : cuda_graph(native), arguments_(std::move(arguments)) {}
  ~cuda_round_graph() override;

 private:
  std::vector<argument_memory> arguments_;
};

}  // namespace imbrex
