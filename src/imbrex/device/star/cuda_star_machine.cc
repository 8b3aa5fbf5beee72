#include <map>
#include <mutex>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/device/star/cuda_star_steps.h"

#include <fmt/format.h>

namespace imbrex::detail {

namespace {

star_machine asked(int gpu, const void* kernel) {
  cudaFuncAttributes code{};
  int multiprocessors = 0;
  cudaError_t status = cudaFuncGetAttributes(&code, kernel);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu);
  if (status != cudaSuccess) {
    throw device_error(
        fmt::format("asking GPU {} what `star_steps` has there failed: {}", gpu, cudaGetErrorString(status)));
  }
  // What the code was compiled for, not what runs it: code for 8.0 knows no clusters on any GPU.
  if (code.ptxVersion < 80) {
    throw device_error(fmt::format(
        "star_steps needs code for compute capability 8.0 or newer, but that for GPU {} is for {}.{}: compile for it "
        "(CMAKE_CUDA_ARCHITECTURES), or use kernels of single steps",
        gpu, code.ptxVersion / 10, code.ptxVersion % 10));
  }
  return {code.ptxVersion >= 90 ? 2 : 1, multiprocessors};
}

}  // namespace

star_machine star_machine_of(const cuda_launch& at, const void* kernel) {
  if (at.is_simulated()) return {};
  static std::mutex mutex;
  static std::map<std::pair<int, const void*>, star_machine> known;
  const int gpu = at.make_gpu_current();
  const std::lock_guard hold(mutex);
  const auto found = known.find({gpu, kernel});
  if (found != known.end()) return found->second;
  return known.emplace(std::pair(gpu, kernel), asked(gpu, kernel)).first->second;
}

}  // namespace imbrex::detail
