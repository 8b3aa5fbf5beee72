#include "gpu_blas.h"
#include "imbrex/base/error.h"

namespace tiled_dgemm {

std::string why_no_cuda_blas() { return "this build has no cuBLAS: use --kernel dialect"; }

void cuda_blas_tile(imbrex::stream&, int, double, const double*, const double*, double*) {
  throw imbrex::not_built(why_no_cuda_blas());
}

void give_up_cuda_blas() {}

}  // namespace tiled_dgemm
