#include "gpu_blas.h"

#include <cublas_v2.h>
#include <dlfcn.h>

#include <map>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/device/device.h"
#include "imbrex/device/interop/cuda_native.h"

namespace tiled_dgemm {
namespace {

struct library {
  std::string missing;
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasDgemm_v2) dgemm = nullptr;

  library() {
    const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
    void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      missing = dlerror();
      return;
    }
    find(handle, "cublasCreate_v2", create);
    find(handle, "cublasDestroy_v2", destroy);
    find(handle, "cublasSetStream_v2", set_stream);
    find(handle, "cublasDgemm_v2", dgemm);
  }
  template <class F>
  void find(void* handle, const char* symbol, F& function) {
    function = reinterpret_cast<F>(dlsym(handle, symbol));
    if (function == nullptr) missing = std::string("libcublas has no ") + symbol;
  }
};

const library& cublas() {
  static const library loaded;
  return loaded;
}

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw imbrex::device_error(std::string(what) + " by cuBLAS failed with status " + std::to_string(status));
}

/// Of this PE, by GPU and stream.
thread_local std::map<std::pair<int, cudaStream_t>, cublasHandle_t> handles;

cublasHandle_t handle_of(const imbrex::stream& s, cudaStream_t native) {
  cublasHandle_t& h = handles[{s.on().number(), native}];
  if (h == nullptr) {
    check(cublas().create(&h), "making a handle");
    check(cublas().set_stream(h, native), "choosing a stream");
  }
  return h;
}

}  // namespace

std::string why_no_cuda_blas() {
  return cublas().missing.empty() ? "" : "cuBLAS cannot be loaded: " + cublas().missing;
}

void cuda_blas_tile(imbrex::stream& s, int n, double beta, const double* a, const double* b, double* c) {
  imbrex::enqueue_native(s, "cublasDgemm", [&](cudaStream_t native) {
    const cublasHandle_t h = handle_of(s, native);
    const double one = 1;
    // By columns: the transposed matrices, and so the product of b and a.
    check(cublas().dgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b, n, a, n, &beta, c, n), "a product");
  });
}

void give_up_cuda_blas() {
  for (const auto& [where, h] : handles) static_cast<void>(cublas().destroy(h));
  handles.clear();
}

}  // namespace tiled_dgemm
