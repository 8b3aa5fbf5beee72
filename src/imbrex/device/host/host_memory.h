#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace imbrex {

/// Host memory for buffers, in blocks aligned to 64 bytes that are kept for reuse: buffers of a size that was used
/// before cost no system call. Where the address sanitizer watches, each is the system's own, as large as it was asked
/// for. Any thread.
class host_memory {
 public:
  struct usage {
    std::uint64_t in_use = 0;       ///< bytes handed out now
    std::uint64_t high_water = 0;   ///< the most that ever was
    std::uint64_t kept = 0;         ///< bytes kept for reuse
    std::uint64_t from_system = 0;  ///< allocations that went to the system
  };

  host_memory();
  ~host_memory();
  host_memory(const host_memory&) = delete;
  host_memory& operator=(const host_memory&) = delete;

  /// Throws `out_of_memory` naming the request and what is in use.
  void* allocate(std::size_t bytes);
  void free(void* memory, std::size_t bytes) noexcept;
  usage used() const;

 private:
  static constexpr std::uint64_t max_kept = std::uint64_t{1} << 30;
  static std::size_t rounded(std::size_t bytes);
  void* new_block(std::size_t bytes);

  const bool is_watched_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> kept_;
  usage usage_;
};

}  // namespace imbrex
