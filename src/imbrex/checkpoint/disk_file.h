#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace imbrex {

/// An open file of a checkpoint. Move-only. Every call may block for as long as the disk takes, and throws
/// `snapshot_error`, which names the path. `read_at` and `size`: any thread; the others: one at a time.
class disk_file {
 public:
  static disk_file open_for_reading(const std::string& path);
  /// Creates it, or empties it.
  static disk_file create(const std::string& path);

  disk_file(disk_file&& other) noexcept;
  disk_file& operator=(disk_file&& other) noexcept;
  /// Closes it, whatever becomes of what was written: call `sync` and `close` before.
  ~disk_file();

  const std::string& path() const { return path_; }
  std::uint64_t size() const;

  /// Fills `to` with what begins at `offset`; the fault is `torn` when the file ends before.
  void read_at(std::uint64_t offset, std::span<std::byte> to) const;
  /// Writes both, one behind the other, behind what was written before, and tells the system to begin to bring them to
  /// the disk.
  void write(std::span<const std::byte> bytes, std::span<const std::byte> more = {});
  /// Returns when all that was written is on the disk.
  void sync();
  void close();

 private:
  disk_file(std::string path, int descriptor);

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
};

/// Returns when the names in the folder are on the disk as they are now. Throws `snapshot_error`.
void sync_folder(const std::string& path);

}  // namespace imbrex
