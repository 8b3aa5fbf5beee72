#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

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
  /// How many allocations were opened so far: constant in steady state.
  std::uint64_t num_opened() const { return num_opened_; }

 private:
  cuda_gpu& gpu_;
  std::mutex mutex_;
  bool refused_ = false;
  std::map<const void*, shared_handle> exported_;  // by slab
  std::map<shared_handle, void*> opened_;
  std::uint64_t num_opened_ = 0;
};

}  // namespace imbrex
