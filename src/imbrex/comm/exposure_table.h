#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/device/device.h"

namespace imbrex {

/// Memory of a rank that others may put to and get from, as long as it stands here. Any thread.
class exposure_table {
 public:
  struct entry {
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    memory_kind kind = memory_kind::host;
    std::shared_ptr<stream> in_order_of;  ///< of the PE that exposes it: orders what others do there
  };

  std::uint64_t add(entry e) {
    const std::lock_guard lock(mutex_);
    entries_.emplace(++last_, std::move(e));
    return last_;
  }
  void remove(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    entries_.erase(number);
  }
  /// Throws `usage_error` when it stands here no more.
  entry find(std::uint64_t number, std::uint64_t offset, std::uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(number);
    if (found == entries_.end())
      throw usage_error("a put or get of memory that is exposed no more: keep its `exposed` until all are done");
    if (offset > found->second.bytes || bytes > found->second.bytes - offset) {
      throw usage_error(fmt::format("a put or get of {} bytes at offset {} of memory of {} bytes", bytes, offset,
                                    found->second.bytes));
    }
    return found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, entry> entries_;
  std::uint64_t last_ = 0;
};

}  // namespace imbrex
