#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace imbrex {

/// Throws `device_error` saying what was tried and what CUDA answered, unless `status` is success.
void check_cuda(cudaError_t status, const char* what);

/// "an illegal memory access was encountered (cudaErrorIllegalAddress)"
std::string cuda_error_text(cudaError_t status);

}  // namespace imbrex
