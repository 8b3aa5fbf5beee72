#include <cuda_runtime.h>

#include <cstddef>

#include "cuda_naive.h"
#include "imbrex/device/cuda/api/cuda_error.h"

// The kernel of matrix_product.hk; its CUDA form is compiled in a file of its own.
__global__ void matrix_product(int n, const double* a, const double* b, double* c);

namespace dgemm {
namespace {

/// The calling thread's GPU, for as long as this lives.
class chosen_gpu {
 public:
  explicit chosen_gpu(int number) {
    imbrex::check_cuda(cudaGetDevice(&before_), "asking for the GPU");
    imbrex::check_cuda(cudaSetDevice(number), "choosing a GPU");
  }
  ~chosen_gpu() { static_cast<void>(cudaSetDevice(before_)); }
  chosen_gpu(const chosen_gpu&) = delete;
  chosen_gpu& operator=(const chosen_gpu&) = delete;

 private:
  int before_ = 0;
};

}  // namespace

void naive_products(int number, int n, const double* a, const double* b, int iterations, std::vector<double>& result) {
  using imbrex::check_cuda;
  const chosen_gpu gpu(number);
  const std::size_t bytes = sizeof(double) * static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const dim3 groups(static_cast<unsigned>(n / 16), static_cast<unsigned>(n / 16)), group(16, 16);
  for (int i = 0; i < iterations; ++i) {
    double *on_gpu_a = nullptr, *on_gpu_b = nullptr, *on_gpu_c = nullptr;
    check_cuda(cudaMalloc(&on_gpu_a, bytes), "allocating");
    check_cuda(cudaMalloc(&on_gpu_b, bytes), "allocating");
    check_cuda(cudaMalloc(&on_gpu_c, bytes), "allocating");
    check_cuda(cudaMemcpy(on_gpu_a, a, bytes, cudaMemcpyHostToDevice), "copying");
    check_cuda(cudaMemcpy(on_gpu_b, b, bytes, cudaMemcpyHostToDevice), "copying");
    matrix_product<<<groups, group>>>(n, on_gpu_a, on_gpu_b, on_gpu_c);
    check_cuda(cudaGetLastError(), "launching the product");
    if (!result.empty() && i == iterations - 1)
      check_cuda(cudaMemcpy(result.data(), on_gpu_c, bytes, cudaMemcpyDeviceToHost), "copying");
    check_cuda(cudaFree(on_gpu_a), "freeing");
    check_cuda(cudaFree(on_gpu_b), "freeing");
    check_cuda(cudaFree(on_gpu_c), "freeing");
  }
}

}  // namespace dgemm
