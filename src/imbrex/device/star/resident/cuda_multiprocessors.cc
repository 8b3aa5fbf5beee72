#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/device/star/resident/resident_rounds.h"

namespace imbrex::detail {

int multiprocessors_of(int number) {
  int found = 0;
  const cudaError_t status = cudaDeviceGetAttribute(&found, cudaDevAttrMultiProcessorCount, number);
  if (status != cudaSuccess) {
    throw device_error(
        fmt::format("asking GPU {} for its multiprocessors failed: {}", number, cudaGetErrorString(status)));
  }
  return found;
}

}  // namespace imbrex::detail
