#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace md {

/// A file that is written from its start to its end. What cannot be opened is a config_error with path, reason and
/// remedy; what cannot be written later (a full disk) is an error with path and reason.
class out_file {
 public:
  /// Creates or empties the file.
  static out_file create(const std::string& path);
  /// Opens a file that there is and goes on after its first `bytes`; what follows is cut off. A config_error where
  /// there are less.
  static out_file extend(const std::string& path, std::int64_t bytes);
  /// Writes beside the file, into `path`.part. Only close() gives it its name, so that until then, and where the
  /// writer fails, an older file is left as it was.
  static out_file replace(const std::string& path);

  out_file(const out_file&) = delete;
  out_file& operator=(const out_file&) = delete;
  ~out_file();

  void write(std::string_view bytes);            ///< may be kept in memory
  std::int64_t bytes() const { return bytes_; }  ///< written so far, with those it was extended from
  void flush();                                  ///< returns when the system has taken everything so far
  void close();                                  ///< flushes; must be the last call

 private:
  struct closer {
    void operator()(std::FILE* f) const noexcept { std::fclose(f); }
  };
  out_file(const std::string& path, const std::string& written, const char* mode, std::int64_t bytes);
  [[noreturn]] void fail() const;

  std::string path_;     ///< that the user knows
  std::string written_;  ///< the same, or the one beside it until it has been renamed
  std::unique_ptr<std::FILE, closer> file_;
  std::int64_t bytes_;
};

/// What to say where what a checkpoint rests on is not in `path` any more.
std::string lost_frames(const std::string& path);

/// Replaces the file by these bytes.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace md
