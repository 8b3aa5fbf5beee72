#pragma once

#include <string>

namespace imbrex {
class stream;
}

/// cuBLAS, loaded when it is first used.
namespace tiled_dgemm {

/// Loads it; what is missing, or empty when it is there. Any thread.
std::string why_no_cuda_blas();

/// Enqueues c = a b + beta c, n by n in rows, of memory of the stream's GPU. Each stream has a handle of cuBLAS, made
/// at its first use by the calling PE. Throws `device_error`.
void cuda_blas_tile(imbrex::stream& s, int n, double beta, const double* a, const double* b, double* c);

/// Gives up the calling PE's handles: nothing that it enqueued may be under way.
void give_up_cuda_blas();

}  // namespace tiled_dgemm
