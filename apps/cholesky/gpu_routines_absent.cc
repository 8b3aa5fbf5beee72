#include "gpu_routines.h"
#include "imbrex/base/error.h"

namespace cholesky {

std::string why_no_gpu_libraries() {
  return "this build has no CUDA, or no cuSOLVER: install the CUDA toolkit and configure again";
}

namespace {
[[noreturn]] void refuse() { throw imbrex::not_built(why_no_gpu_libraries()); }
}  // namespace

int gpu_potrf_work_space(int) { refuse(); }
void gpu_potrf(imbrex::stream&, std::span<double>, int, std::span<double>, std::span<int>) { refuse(); }
void gpu_invert(imbrex::stream&, std::span<const double>, std::span<const double>, std::span<double>, int) { refuse(); }
void gpu_solve(imbrex::stream&, std::span<const double>, std::span<double>, int, std::span<double>) { refuse(); }
void gpu_syrk(imbrex::stream&, std::span<const double>, std::span<double>, int) { refuse(); }
void gpu_gemm(imbrex::stream&, std::span<const double>, std::span<const double>, std::span<double>, int) { refuse(); }
void give_up_gpu_libraries() {}

}  // namespace cholesky
