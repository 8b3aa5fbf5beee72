#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

/// The few functions of the driver that the CUDA runtime does not offer, found when the program runs: a program built
/// with CUDA starts where no driver is.
namespace imbrex::cuda_driver {

/// Enqueues: once all before has finished, `*word = value`, 8 bytes of pinned memory or of a GPU that `s` reaches.
cudaError_t write_value(cudaStream_t s, void* word, std::uint64_t value);
/// Enqueues: what follows waits until `*word >= value`.
cudaError_t wait_value(cudaStream_t s, const void* word, std::uint64_t value);
/// What the driver knows of the allocation that an address lies in.
struct allocation {
  const std::byte* start = nullptr;
  std::size_t bytes = 0;         ///< 0: nothing
  bool is_shareable = false;     ///< by cudaIpcGetMemHandle: cudaMalloc's
  cudaMemPool_t pool = nullptr;  ///< cudaMallocAsync's
};
allocation allocation_of(const void* memory);
/// Whether kernels are loaded when the program starts, and not when they are first launched: a kernel whose launch
/// loads it waits until the GPU has nothing to do, so that nothing may wait for it there.
bool loads_kernels_early();
/// Asks for that; before CUDA is first used. Does nothing where the user has said CUDA_MODULE_LOADING.
void ask_to_load_kernels_early();

}  // namespace imbrex::cuda_driver
