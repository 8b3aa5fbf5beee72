#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>

#include "imbrex/device/memory_kind.h"

namespace imbrex {

/// Memory that others allocated and a program has told the devices of a process about (`foreign_memory`): pieces of
/// allocations, of which everything is known that is asked for each message. Any thread; asking costs a load while
/// there is none.
class adopted_memory {
 public:
  struct allocation {
    const std::byte* start = nullptr;  ///< of all that was allocated there
    std::size_t bytes = 0;
    memory_kind kind = memory_kind::host;
    int gpu = -1;               ///< that it was adopted for; -1: none
    bool is_shareable = false;  ///< other processes of the machine may open it
    bool is_staged = false;     ///< of a device's kind, but networks are not to read or write it
  };
  using watcher = std::function<void(std::byte* start, std::size_t bytes, memory_kind kind, int gpu, bool comes)>;

  /// Calls `tell` for pieces that come and go from now on, but not for those that are staged; where several begin at
  /// one address, for the first that comes and the last that goes. It must not call this.
  void watch(watcher tell);

  /// A piece of `of`, which may be known already from others of its pieces.
  void add(const std::byte* piece, std::size_t bytes, const allocation& of);
  /// The piece goes. Gives the allocation when it was its last one, else one without a start. Pieces that were not
  /// added (memory of the host that nobody knows) are passed over.
  allocation remove(const std::byte* piece, std::size_t bytes) noexcept;

  bool is_staged(const void* memory) const {
    return num_known_.load(std::memory_order_acquire) != 0 && find(memory).is_staged;
  }
  /// The start of the allocation that the address lies in, if others may open that; else null.
  const void* shareable_at(const void* memory) const {
    if (num_known_.load(std::memory_order_acquire) == 0) return nullptr;
    const allocation a = find(memory);
    return a.is_shareable ? a.start : nullptr;
  }

 private:
  struct known {
    allocation what;
    std::size_t num_pieces = 0;
  };
  using allocations = std::map<const std::byte*, known>;

  allocation find(const void* memory) const;
  allocations::const_iterator find_locked(const std::byte* memory) const;
  void tell(const std::byte* piece, std::size_t bytes, const allocation& of, bool comes) const;

  mutable std::mutex mutex_;
  std::atomic<std::size_t> num_known_{0};
  allocations known_;                                 // by start; they do not overlap
  std::map<const std::byte*, std::size_t> num_told_;  // by start of the piece
  watcher watcher_;
};

}  // namespace imbrex
