#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace imbrex {

namespace detail {

/// Looks, where an element has arrived, for members that its `serialize` does not name (`--imbrex-check-serialize`):
/// bytes of the object that nobody has read, that are as the default constructor has made them, and that were others
/// before it moved. Addresses count as equal, since they are others in other memory.
class member_check {
 public:
  /// Of all jobs of the process.
  static bool is_on() { return on_.load(std::memory_order_relaxed); }
  static void turn(bool on) { on_.store(on, std::memory_order_relaxed); }
  /// While it is on, memory is zero before an object is constructed there, so that what lies between members is equal.
  static void prepare(void* memory, std::size_t size) {
    if (is_on()) [[unlikely]]
      std::memset(memory, 0, size);
  }

  /// An object of `size` bytes as it leaves, and where it was; empty: not on.
  static std::vector<std::byte> image_of(const void* object, std::size_t size);

  /// Of an object that has just been constructed. Null: there is no image of it.
  static std::unique_ptr<member_check> of(std::vector<std::byte> image, const void* object, std::size_t size);
  /// This is read; what is no part of the object does not count.
  void sees(const void* at, std::size_t n);
  /// Ranges of bytes that were lost; empty: none.
  std::string lost() const;

 private:
  member_check(std::vector<std::byte> image, const void* object, std::size_t size);
  bool was_lost(std::size_t word) const;

  const std::byte* object_;
  std::vector<std::byte> before_;  ///< where it came from
  std::size_t was_at_ = 0;
  std::vector<std::byte> fresh_;
  std::vector<bool> seen_;

  inline static std::atomic<bool> on_{false};
};

}  // namespace detail

}  // namespace imbrex
