#include "imbrex/device/cuda/cuda_graph.h"

#include <utility>

#include "imbrex/device/cuda/api/cuda_error.h"

namespace imbrex {

cuda_graph::cuda_graph(cudaGraph_t native) {
  const owned_cuda_graph owned(native);
  instantiate(native);
}

cuda_graph::~cuda_graph() {
  if (executable_ != nullptr) static_cast<void>(cudaGraphExecDestroy(executable_));
}

void cuda_graph::instantiate(cudaGraph_t native) {
  check_cuda(cudaGraphGetNodes(native, nullptr, &num_operations_), "counting the nodes of a graph");
  check_cuda(cudaGraphInstantiateWithFlags(&executable_, native, 0), "instantiating a graph");
}

bool cuda_graph::update(cudaGraph_t native) {
  const owned_cuda_graph owned(native);
  cudaGraphExecUpdateResultInfo result{};
  if (cudaGraphExecUpdate(executable_, native, &result) == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());
  static_cast<void>(cudaGraphExecDestroy(std::exchange(executable_, nullptr)));
  instantiate(native);
  return false;
}

}  // namespace imbrex
