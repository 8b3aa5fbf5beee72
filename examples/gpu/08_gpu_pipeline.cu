// The kernel of 08_gpu_pipeline.cc.
#include "08_gpu_pipeline.h"

#include <imbrex/device/cuda/cuda_launch.h>

namespace {

__global__ void invert_kernel(std::uint32_t* numbers, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) numbers[i] = inverse(numbers[i]);
}

}  // namespace

void gpu_invert(imbrex::stream& s, std::uint32_t* numbers, std::size_t n) {
  constexpr unsigned threads = 256;
  const auto blocks = static_cast<unsigned>((n + threads - 1) / threads);
  imbrex::launch(s, "invert", invert_kernel, dim3(blocks), dim3(threads), 0, numbers, n);
}
