#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "imbrex/device/shared_memory.h"

namespace imbrex {

class cuda_gpu;

/// CUDA IPC for one GPU: slabs of its pool are exported once, allocations of other processes opened once and kept open
/// (opening one costs 100 to 500 us) until their owner says that they are gone. An allocation is known by a number that
/// its owner gave it, never by its address, which the next one may have. Any thread.
class cuda_shared_memory {
 public:
  explicit cuda_shared_memory(cuda_gpu& gpu);
  ~cuda_shared_memory();
  cuda_shared_memory(const cuda_shared_memory&) = delete;
  cuda_shared_memory& operator=(const cuda_shared_memory&) = delete;

  /// False where the system does not let processes share GPU memory; says why once, in the log.
  bool share(const void* memory, shared_memory& as);
  /// The slab that begins there is given back.
  void forget(const void* slab) noexcept;
  /// Throws `device_error`, also when the memory is known to have been given back.
  const std::byte* open(const shared_memory& m);
  /// How many allocations were opened so far: constant in steady state.
  std::uint64_t num_opened() const { return num_opened_; }

 private:
  void* open_native(const shared_handle& handle);
  void take_news(const dropped_allocations& news);
  void close_dropped() noexcept;

  cuda_gpu& gpu_;
  std::mutex mutex_;
  bool refused_ = false;
  std::map<const void*, shared_handle> exported_;                 // by slab
  dropped_allocations dropped_;                                   // of those
  std::unordered_map<std::uint64_t, void*> opened_;               // by allocation
  std::unordered_map<std::uint64_t, std::uint32_t> known_drops_;  // how many of each owner's are known
  std::set<std::uint64_t> gone_;
  std::vector<void*> to_close_;
  std::atomic<std::uint64_t> num_opened_{0};
};

}  // namespace imbrex
