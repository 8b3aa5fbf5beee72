// The kernel of 07_gpu_vector.cc. A .cu file sees of imbrex only how to launch: no chare, no coroutine.
#include "07_gpu_vector.h"

#include <imbrex/device/cuda/cuda_launch.h>

namespace {

__global__ void axpy_kernel(std::size_t n, double a, const double* x, double* y) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

}  // namespace

void gpu_axpy(imbrex::stream& s, std::size_t n, double a, const double* x, double* y) {
  constexpr unsigned threads = 256;
  const auto blocks = static_cast<unsigned>((n + threads - 1) / threads);
  // The name stands for the kernel in traces and in reports of failures.
  imbrex::launch(s, "axpy", axpy_kernel, dim3(blocks), dim3(threads), 0, n, a, x, y);
}
