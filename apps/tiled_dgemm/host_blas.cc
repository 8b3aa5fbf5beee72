#include "host_blas.h"

#include <cblas.h>

namespace tiled_dgemm {

std::string host_blas_name() { return openblas_get_config(); }

void host_blas_single_threaded() { openblas_set_num_threads(1); }

void host_blas_tile(int n, double beta, const double* a, const double* b, double* c) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, beta, c, n);
}

void host_blas_whole(int n, int threads, const double* a, const double* b, double* c) {
  openblas_set_num_threads(threads);
  host_blas_tile(n, 0, a, b, c);
  openblas_set_num_threads(1);
}

}  // namespace tiled_dgemm
