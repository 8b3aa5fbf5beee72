#include "host_blas.h"
#include "imbrex/base/error.h"

namespace tiled_dgemm {

std::string host_blas_name() { return {}; }

void host_blas_single_threaded() {}

void host_blas_tile(int, double, const double*, const double*, double*) {
  throw imbrex::not_built("this build has no OpenBLAS: install libopenblas-dev and configure again");
}

void host_blas_whole(int n, int, const double* a, const double* b, double* c) { host_blas_tile(n, 0, a, b, c); }

}  // namespace tiled_dgemm
