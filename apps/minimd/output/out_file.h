#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/output_place.h"

namespace md {

/// A file that is written from its start to its end. What cannot be opened is a config_error, or a usage_error
/// of replace, with path, reason and remedy; what cannot be written later (a full disk) is an error with path and
/// reason.
class out_file {
 public:
  /// Creates or empties the file.
  static out_file create(const std::string& path);
  /// Opens a file that there is and goes on after its first `bytes`; what follows is cut off. A config_error where
  /// there are less.
  static out_file extend(const std::string& path, std::int64_t bytes);
  /// Writes beside the file, as apps::output_place does. Only close() gives it its name, so that until then, and where
  /// the writer fails, an older file is left as it was.
  static out_file replace(const std::string& path);

  out_file(const out_file&) = delete;
  out_file& operator=(const out_file&) = delete;
  void write(std::string_view bytes);            ///< may be kept in memory
  std::int64_t bytes() const { return bytes_; }  ///< written so far, with those it was extended from
  void flush();                                  ///< returns when the system has taken everything so far
  void close();                                  ///< flushes; must be the last call

 private:
  struct closer {
    void operator()(std::FILE* f) const noexcept { std::fclose(f); }
  };
  out_file(const std::string& path, std::FILE* file, std::int64_t bytes, std::optional<apps::output_place> place = {});
  [[noreturn]] void fail() const;

  std::string path_;                         ///< that the user knows
  std::optional<apps::output_place> place_;  ///< of a file that is beside its place
  std::unique_ptr<std::FILE, closer> file_;
  std::int64_t bytes_;
};

/// What to say where what a checkpoint rests on is not in `path` any more.
std::string lost_frames(const std::string& path);

}  // namespace md
