#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

#include "imbrex/device/graph.h"

namespace imbrex {

struct destroy_cuda_graph {
  void operator()(cudaGraph_t g) const { static_cast<void>(cudaGraphDestroy(g)); }
};
/// Before it is instantiated.
using owned_cuda_graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, destroy_cuda_graph>;

/// A captured and instantiated CUDA graph.
class cuda_graph : public graph {
 public:
  /// Takes `native` over. Throws `device_error`.
  explicit cuda_graph(cudaGraph_t native);
  ~cuda_graph() override;

  std::size_t num_operations() const override { return num_operations_; }
  cudaGraphExec_t executable() const { return executable_; }
  /// Takes `native` over and puts its operations in the place of those of before. True when that was possible without
  /// instantiating again: the same operations in the same order, with other arguments.
  bool update(cudaGraph_t native);

 private:
  void instantiate(cudaGraph_t native);

  cudaGraphExec_t executable_ = nullptr;
  std::size_t num_operations_ = 0;
};

}  // namespace imbrex
