#include "imbrex/device/cuda/api/cuda_driver.h"

#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>

#include "imbrex/base/error.h"

namespace imbrex::cuda_driver {

namespace {

using value_function = CUresult (*)(CUstream, CUdeviceptr, cuuint64_t, unsigned);

template <class Function>
Function find(const char* name) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);  // the CUDA runtime has loaded it
  void* const found = driver != nullptr ? dlsym(driver, name) : nullptr;
  if (found == nullptr) throw device_error(std::string("the NVIDIA driver has no ") + name + ": update it");
  return reinterpret_cast<Function>(found);
}

cudaError_t as_runtime_error(CUresult r) {
  if (r == CUDA_SUCCESS) return cudaSuccess;
  const cudaError_t pending = cudaPeekAtLastError();
  return pending != cudaSuccess ? pending : static_cast<cudaError_t>(r);  // the numbers are the same since CUDA 10.1
}

}  // namespace

cudaError_t write_value(cudaStream_t s, void* word, std::uint64_t value) {
  static const value_function f = find<value_function>("cuStreamWriteValue64_v2");
  return as_runtime_error(f(s, reinterpret_cast<CUdeviceptr>(word), value, CU_STREAM_WRITE_VALUE_DEFAULT));
}

cudaError_t wait_value(cudaStream_t s, const void* word, std::uint64_t value) {
  static const value_function f = find<value_function>("cuStreamWaitValue64_v2");
  return as_runtime_error(f(s, reinterpret_cast<CUdeviceptr>(word), value, CU_STREAM_WAIT_VALUE_GEQ));
}

allocation allocation_of(const void* memory) {
  using ask_function = CUresult (*)(unsigned, CUpointer_attribute*, void**, CUdeviceptr);
  static const ask_function f = find<ask_function>("cuPointerGetAttributes");
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  int is_shareable = 0;
  CUmemoryPool pool = nullptr;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                 CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
  void* answers[] = {&start, &bytes, &is_shareable, &pool};
  if (f(4, asked, answers, reinterpret_cast<CUdeviceptr>(memory)) != CUDA_SUCCESS) return {};
  return {reinterpret_cast<const std::byte*>(start), bytes, is_shareable != 0, pool};
}

bool loads_kernels_early() {
  using mode_function = CUresult (*)(CUmoduleLoadingMode*);
  static const bool early = [] {
    CUmoduleLoadingMode mode = CU_MODULE_LAZY_LOADING;
    return find<mode_function>("cuModuleGetLoadingMode")(&mode) == CUDA_SUCCESS && mode == CU_MODULE_EAGER_LOADING;
  }();
  return early;
}

void ask_to_load_kernels_early() { static_cast<void>(setenv("CUDA_MODULE_LOADING", "EAGER", 0)); }

}  // namespace imbrex::cuda_driver
