#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

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

  std::uint64_t add(entry e);
  void remove(std::uint64_t number);
  /// Throws `usage_error` when it stands here no more.
  entry find(std::uint64_t number, std::uint64_t offset, std::uint64_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, entry> entries_;
  std::uint64_t last_ = 0;
};

}  // namespace imbrex
