#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

/// GPUs without a GPU: this program has its own functions of the CUDA runtime and of the driver that the library calls,
/// so that the library's own code for GPUs runs against them. Memory is the host's; each stream is a thread, and runs
/// what is enqueued in order. What an NVIDIA driver punishes is looked for: memory of a GPU that is not reached, calls
/// that block for ever (they give up after `patience_ms` and are listed), handles of memory that has been freed.
namespace fake_cuda {

struct shape {
  int gpus = 2;
  int multiprocessors = 132;
  std::size_t bytes = std::size_t{1} << 30;  ///< of each GPU
  bool shares_memory = true;                 ///< whether an allocation has a handle for other processes
  bool opens_memory = true;                  ///< whether such a handle can be opened
  bool shares_pools = true;                  ///< whether other GPUs can be let reach memory of pools
  int patience_ms = 2000;                    ///< how long a call may block
};

/// New GPUs, all of which reach each other; before the library opens them. Ends the threads of the GPUs before.
void start(const shape& s = {});
/// GPU `from` cannot reach the memory of GPU `to` from now on.
void separate(int from, int to);
/// Ends all threads, whatever they wait for.
void stop();
bool stopping();

/// Calls that blocked for longer than a driver's user would like: "cudaFree", ...
std::vector<std::string> blocked_calls();
/// Accesses to memory that was not reached, and other things a driver takes for a failure of the GPU.
std::vector<std::string> failures();
/// The most thread blocks that waited on this GPU at a time.
int most_waiting_blocks(int gpu);
/// How many allocations of others are open now.
int num_open_handles();
/// How often this function of the runtime was called since `start`.
int calls_of(const std::string& function);
/// The same of all that are counted.
std::map<std::string, int> calls();
/// Events cannot be recorded any more, as on a GPU that has failed, until `start`.
void refuse_events();
/// Host memory that is not pinned is this to the GPUs.
bool is_pageable(const void* memory);
bool is_of_host(const void* memory);
/// Whose it is; -1: no GPU's.
int gpu_of_memory(const void* memory);

/// What a kernel of the program's does, of arguments of these sizes; others do nothing. Before it is launched.
using kernel_function = std::function<void(dim3 grid, dim3 block, void** arguments)>;
void define_kernel(const void* function, std::vector<std::size_t> arguments, kernel_function run);
/// Enqueues a kernel that runs on the CPU.
void launch(cudaStream_t s, std::function<void()> kernel);

}  // namespace fake_cuda
