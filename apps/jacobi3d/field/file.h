#pragma once

#include <cstdint>
#include <string>

namespace jacobi {

/// An open file, read and written at offsets of 64 bits. The calls are safe from any thread. Move-only.
class file {
 public:
  static file open_for_reading(const std::string& path);  ///< throws usage_error with path and reason
  static file open_for_writing(const std::string& path);  ///< must exist; throws error with path and reason
  /// Creates it; there must be none. Throws usage_error with reason and `wanted`, the path that the user knows.
  static file create(const std::string& path, const std::string& wanted);

  file(file&& other) noexcept;
  file& operator=(file&& other) noexcept;
  ~file();

  const std::string& path() const { return path_; }
  std::uint64_t size() const;

  /// Both transfer everything or throw error with path and reason.
  void read_at(std::uint64_t offset, void* to, std::uint64_t bytes) const;
  void write_at(std::uint64_t offset, const void* from, std::uint64_t bytes) const;

  /// Extends the file; throws usage_error if the file system has less room than that.
  void reserve(std::uint64_t bytes) const;

  /// Closes it and throws error if the system only now says that something could not be written.
  void close();

 private:
  file(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_ = -1;
};

/// Gives `from` the name `to`, replacing what is there. Throws error.
void rename_file(const std::string& from, const std::string& to);
/// Removes a file; it may be absent. Never throws.
void remove_file(const std::string& path) noexcept;

}  // namespace jacobi
