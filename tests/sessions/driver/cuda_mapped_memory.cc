// What the jobs of the tests ask of fake_cuda beyond the driver's own functions, by NVIDIA's driver: preloaded where a
// GPU is there.
#include <cuda.h>

#include <cstddef>
#include <cstdint>

extern "C" {

/// Two allocations of whole granules, the second where the first ends. 0 where the driver refuses.
std::uint64_t fake_cuda_abutting_memory(std::size_t bytes_of_each) {
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  CUmemAccessDesc access{};
  access.location = kind.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUdeviceptr start = 0;
  if (cuMemAddressReserve(&start, 2 * bytes_of_each, 0, 0, 0) != CUDA_SUCCESS) return 0;
  for (std::size_t at = 0; at < 2 * bytes_of_each; at += bytes_of_each) {
    CUmemGenericAllocationHandle made{};
    if (cuMemCreate(&made, bytes_of_each, &kind, 0) != CUDA_SUCCESS) return 0;
    if (cuMemMap(start + at, bytes_of_each, 0, made, 0) != CUDA_SUCCESS) return 0;
  }
  return cuMemSetAccess(start, 2 * bytes_of_each, &access, 1) == CUDA_SUCCESS ? start : 0;
}

/// Nothing counts what the driver does, and it has no memory that nobody announces.
unsigned long fake_cuda_queries() { return 0; }
unsigned long fake_cuda_waits_for_default_stream() { return 0; }
std::uint64_t fake_cuda_secret_memory() { return 0; }
}
