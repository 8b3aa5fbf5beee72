#include "gpu_routines.h"

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <dlfcn.h>

#include <map>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/device/device.h"
#include "imbrex/device/interop/cuda_native.h"

namespace cholesky {
namespace {

struct libraries {
  std::string missing;
  decltype(&cublasCreate_v2) create_blas = nullptr;
  decltype(&cublasDestroy_v2) destroy_blas = nullptr;
  decltype(&cublasSetStream_v2) set_blas_stream = nullptr;
  decltype(&cublasDgemm_v2) gemm = nullptr;
  decltype(&cublasDsyrk_v2) syrk = nullptr;
  decltype(&cublasDtrsm_v2) trsm = nullptr;
  decltype(&cusolverDnCreate) create_solver = nullptr;
  decltype(&cusolverDnDestroy) destroy_solver = nullptr;
  decltype(&cusolverDnSetStream) set_solver_stream = nullptr;
  decltype(&cusolverDnDpotrf) potrf = nullptr;
  decltype(&cusolverDnDpotrf_bufferSize) potrf_work_space = nullptr;

  libraries() {
    void* const blas = load("libcublas.so." + std::to_string(CUBLAS_VER_MAJOR));
    void* const solver = load("libcusolver.so." + std::to_string(CUSOLVER_VER_MAJOR));
    if (!missing.empty()) return;
    find(blas, "cublasCreate_v2", create_blas);
    find(blas, "cublasDestroy_v2", destroy_blas);
    find(blas, "cublasSetStream_v2", set_blas_stream);
    find(blas, "cublasDgemm_v2", gemm);
    find(blas, "cublasDsyrk_v2", syrk);
    find(blas, "cublasDtrsm_v2", trsm);
    find(solver, "cusolverDnCreate", create_solver);
    find(solver, "cusolverDnDestroy", destroy_solver);
    find(solver, "cusolverDnSetStream", set_solver_stream);
    find(solver, "cusolverDnDpotrf", potrf);
    find(solver, "cusolverDnDpotrf_bufferSize", potrf_work_space);
  }
  void* load(const std::string& name) {
    void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) missing = dlerror();
    return handle;
  }
  template <class F>
  void find(void* handle, const char* symbol, F& function) {
    function = reinterpret_cast<F>(dlsym(handle, symbol));
    if (function == nullptr) missing = std::string("the libraries of CUDA have no ") + symbol;
  }
};

const libraries& loaded() {
  static const libraries all;
  return all;
}

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw imbrex::device_error(std::string(what) + " by cuBLAS failed with status " + std::to_string(status));
}
void check(cusolverStatus_t status, const char* what) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw imbrex::device_error(std::string(what) + " by cuSOLVER failed with status " + std::to_string(status));
}

struct handles {
  cublasHandle_t blas = nullptr;
  cusolverDnHandle_t solver = nullptr;
};
/// Of this PE, by GPU and stream.
thread_local std::map<std::pair<int, cudaStream_t>, handles> all_handles;

const handles& handles_of(const imbrex::stream& s, cudaStream_t native) {
  handles& h = all_handles[{s.on().number(), native}];
  if (h.blas == nullptr) {
    check(loaded().create_blas(&h.blas), "making a handle");
    check(loaded().set_blas_stream(h.blas, native), "choosing a stream");
    check(loaded().create_solver(&h.solver), "making a handle");
    check(loaded().set_solver_stream(h.solver, native), "choosing a stream");
  }
  return h;
}

constexpr double zero = 0, one = 1, minus_one = -1;

}  // namespace

std::string why_no_gpu_libraries() { return loaded().missing; }

int gpu_potrf_work_space(int b) {
  handles h;
  int elements = 0;
  check(loaded().create_solver(&h.solver), "making a handle");
  check(loaded().potrf_work_space(h.solver, CUBLAS_FILL_MODE_LOWER, b, nullptr, b, &elements), "asking for work space");
  check(loaded().destroy_solver(h.solver), "giving up a handle");
  return elements;
}

void gpu_potrf(imbrex::stream& s, std::span<double> a, int b, std::span<double> work_space, std::span<int> info) {
  imbrex::enqueue_native(s, "cusolverDnDpotrf", [&](cudaStream_t native) {
    check(loaded().potrf(handles_of(s, native).solver, CUBLAS_FILL_MODE_LOWER, b, a.data(), b, work_space.data(),
                         static_cast<int>(work_space.size()), info.data()),
          "a factorisation");
  });
}

void gpu_invert(imbrex::stream& s, std::span<const double> l, std::span<const double> unit, std::span<double> inverse,
                int b) {
  s.copy(inverse.data(), unit.data(), unit.size_bytes());
  imbrex::enqueue_native(s, "cublasDtrsm", [&](cudaStream_t native) {
    check(loaded().trsm(handles_of(s, native).blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                        CUBLAS_DIAG_NON_UNIT, b, b, &one, l.data(), b, inverse.data(), b),
          "inverting");
  });
}

void gpu_solve(imbrex::stream& s, std::span<const double> inverse, std::span<double> a, int b,
               std::span<double> work_space) {
  s.copy(work_space.data(), a.data(), a.size_bytes());
  imbrex::enqueue_native(s, "cublasDgemm", [&](cudaStream_t native) {
    // The first half of the columns comes from the first half alone: above its diagonal the inverse is zero.
    const int half = b / 2;
    const auto columns = [&](int first, int num) {
      check(loaded().gemm(handles_of(s, native).blas, CUBLAS_OP_N, CUBLAS_OP_T, b, num, first + num, &one,
                          work_space.data(), b, inverse.data() + first, b, &zero,
                          a.data() + static_cast<std::ptrdiff_t>(first) * b, b),
            "solving");
    };
    if (half > 0) columns(0, half);
    columns(half, b - half);
  });
}

void gpu_syrk(imbrex::stream& s, std::span<const double> a, std::span<double> c, int b) {
  imbrex::enqueue_native(s, "cublasDsyrk", [&](cudaStream_t native) {
    check(loaded().syrk(handles_of(s, native).blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, b, b, &minus_one, a.data(), b,
                        &one, c.data(), b),
          "a symmetric update");
  });
}

void gpu_gemm(imbrex::stream& s, std::span<const double> a, std::span<const double> at, std::span<double> c, int b) {
  imbrex::enqueue_native(s, "cublasDgemm", [&](cudaStream_t native) {
    check(loaded().gemm(handles_of(s, native).blas, CUBLAS_OP_N, CUBLAS_OP_T, b, b, b, &minus_one, a.data(), b,
                        at.data(), b, &one, c.data(), b),
          "an update");
  });
}

void give_up_gpu_libraries() {
  for (const auto& [where, h] : all_handles) {
    static_cast<void>(loaded().destroy_blas(h.blas));
    static_cast<void>(loaded().destroy_solver(h.solver));
  }
  all_handles.clear();
}

}  // namespace cholesky
