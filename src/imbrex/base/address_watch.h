#pragma once

#include <atomic>
#include <cstddef>

namespace imbrex::detail {

/// Ranks that are threads of one process (`--imbrex-ranks`) can follow each other's pointers; ranks that are processes
/// cannot. While it is on, values that are copied as bytes, and that the compiler could not see to be free of pointers,
/// are searched for words that are addresses of this process's memory; the first of each type is warned of.
class address_watch {
 public:
  static bool is_on() { return on_.load(std::memory_order_relaxed); }
  static void turn(bool on) { on_.store(on, std::memory_order_relaxed); }
  /// Looks at the first of the values of `type`, of `each` bytes. Any thread.
  static void look(const void* values, std::size_t bytes, std::size_t each, const char* type);

 private:
  inline static std::atomic<bool> on_{false};
};

}  // namespace imbrex::detail
