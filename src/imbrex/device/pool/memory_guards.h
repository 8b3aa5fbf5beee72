#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "imbrex/device/memory_kind.h"

namespace imbrex {

class device;

/// What stands around memory that devices hand out where it is checked (`--imbrex-check-memory`): bytes that nobody may
/// write, looked at when the memory is freed. That they have changed ends the job, by name of who had asked for the
/// memory. New memory, and what is freed, is filled with bytes 255 (floating-point numbers that are none, integers of
/// -1), so that what is read before it was written, or after it was freed, shows. Blocks while it reads and writes. Any
/// thread; one for all devices of a rank.
class memory_guards {
 public:
  /// What to allocate for `bytes`.
  static std::size_t with_guards(std::size_t bytes) { return bytes + 2 * guard_bytes; }

  /// Puts guards into `raw`, of `with_guards(bytes)` of memory of `d`; what lies between them, aligned as `raw` is up
  /// to 512 bytes. For whom the calling PE works is who asked for it.
  void* put(device& d, void* raw, std::size_t bytes, memory_kind kind);
  /// Looks at the guards around `memory`, from `put`, and forgets it: what to free.
  void* take_off(device& d, void* memory) noexcept;
  /// Whether any was found changed, or freed that was not in use.
  bool found_damage() const { return damaged_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t guard_bytes = 512;

  struct part {
    std::size_t bytes;
    memory_kind kind;
    std::string owner;
  };

  void look_at(device& d, const std::byte* first, const part& p);
  void tell(const std::string& what) noexcept;

  std::atomic<bool> damaged_{false};
  std::mutex mutex_;
  std::map<const void*, part> parts_;
};

}  // namespace imbrex
