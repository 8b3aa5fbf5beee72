#pragma once

#include <vector>

/// What a program does that knows CUDA's runtime and nothing else: the baseline of Figure 8. Blocks the calling thread.
namespace dgemm {

/// `iterations` times: cudaMalloc of three n by n matrices, cudaMemcpy of A and B from ordinary memory, the kernel of
/// matrix_product.hk, cudaFree; on CUDA's GPU `number`. `result` (empty: not wanted) gets the last product, after that.
/// Throws `device_error`. The calling thread's current GPU stays what it was.
void naive_products(int number, int n, const double* a, const double* b, int iterations, std::vector<double>& result);

}  // namespace dgemm
