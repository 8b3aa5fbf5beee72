#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

namespace imbrex {

/// Memory that lies in a file: the operating system keeps in main memory what is used of it, and writes and reads the
/// rest. For objects that exceed main memory. The file has no name, and is gone with the process, whatever becomes of
/// that. For one thread.
class file_memory {
 public:
  /// In this folder, on a disk. Throws `config_error` when no file can be made there.
  explicit file_memory(std::string folder);
  ~file_memory();
  file_memory(const file_memory&) = delete;
  file_memory& operator=(const file_memory&) = delete;

  /// Smaller blocks are not worth a mapping.
  static constexpr std::uint64_t least_bytes = 64 << 10;

  /// Undefined bytes, from the beginning of a page. The disk has room for them, else throws `out_of_memory`.
  std::byte* allocate(std::uint64_t bytes);
  bool has(const std::byte* memory) const { return blocks_.contains(memory); }
  /// The disk has their room again.
  void free(std::byte* memory);
  std::uint64_t bytes_in_use() const { return bytes_in_use_; }

 private:
  struct block {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // whole pages
  };
  std::uint64_t take_range(std::uint64_t bytes);
  void give_range(const block& b);

  const std::string folder_;
  int file_ = -1;
  std::uint64_t end_ = 0;  // of the file
  std::uint64_t bytes_in_use_ = 0;
  std::unordered_map<const std::byte*, block> blocks_;
  std::map<std::uint64_t, std::uint64_t> free_;  // ranges that nobody has: offset, bytes; no two touch
};

}  // namespace imbrex
