#pragma once

#include <string>

/// The library for products on the CPU: OpenBLAS, where the build has it.
namespace tiled_dgemm {

/// "OpenBLAS 0.3.21 ..."; empty: this build has none.
std::string host_blas_name();

/// c = a b + beta c, n by n in rows, on the calling thread.
void host_blas_tile(int n, double beta, const double* a, const double* b, double* c);

/// c = a b by `threads` threads of the library's own: the yardstick. Afterwards it has one thread again, and the others
/// have gone to sleep.
void host_blas_whole(int n, int threads, const double* a, const double* b, double* c);

/// Tasks use one thread each: call it once, before any of them.
void host_blas_single_threaded();

}  // namespace tiled_dgemm
