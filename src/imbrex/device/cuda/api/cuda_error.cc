#include "imbrex/device/cuda/api/cuda_error.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

std::string cuda_error_text(cudaError_t status) {
  return fmt::format("{} ({})", cudaGetErrorString(status), cudaGetErrorName(status));
}

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // not to be found again by an innocent call
  throw device_error(fmt::format("{}: {}", what, cuda_error_text(status)));
}

}  // namespace imbrex
