#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>

/// The few functions of the driver that the CUDA runtime does not offer, found when the program runs: a program built
/// with CUDA starts where no driver is.
namespace imbrex::cuda_driver {

/// Enqueues: once all before has finished, `*word = value`. `word` lies in pinned memory.
cudaError_t write_value(cudaStream_t s, std::atomic<std::uint64_t>* word, std::uint64_t value);
/// Enqueues: what follows waits until `*word >= value`.
cudaError_t wait_value(cudaStream_t s, const std::atomic<std::uint64_t>* word, std::uint64_t value);

}  // namespace imbrex::cuda_driver
