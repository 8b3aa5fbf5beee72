#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "imbrex/device/shared_memory.h"

namespace imbrex {

class cuda_gpu;

/// CUDA IPC for one GPU: slabs of its pool are exported once, allocations of other processes opened once and kept open
/// (opening one costs 100 to 500 us). Any thread.
class cuda_shared_memory {
 public:
  explicit cuda_shared_memory(cuda_gpu& gpu) : gpu_(gpu) {}
  ~cuda_shared_memory();
  cuda_shared_memory(const cuda_shared_memory&) = delete;
  cuda_shared_memory& operator=(const cuda_shared_memory&) = delete;

  /// False where the system does not let processes share GPU memory; says why once, in the log.
  bool share(const void* memory, shared_memory& as);
  /// Throws `device_error`.
  const std::byte* open(const shared_memory& m);
  /// An event that other processes can wait for, created when none is spare. False as with `share`.
  bool take_event(shared_point& as, cudaEvent_t& event);
  void give_back(const shared_point& p);
  /// Another process's, kept open. Throws `device_error`.
  cudaEvent_t open_event(const shared_point& p);
  /// How many allocations were opened so far: constant in steady state.
  std::uint64_t num_opened() const { return num_opened_; }

 private:
  cuda_gpu& gpu_;
  std::mutex mutex_;
  bool refused_ = false;
  std::map<const void*, std::vector<std::byte>> exported_;  // by slab
  std::map<std::vector<std::byte>, void*> opened_;
  std::uint64_t num_opened_ = 0;
  std::map<std::vector<std::byte>, cudaEvent_t> events_, opened_events_;  // by handle
  std::vector<std::vector<std::byte>> spare_events_;
};

}  // namespace imbrex
