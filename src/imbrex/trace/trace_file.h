#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace imbrex {

/// A trace as it grows: what `trace_recorder::json_fragment` of each rank gives, one after the other. A file of that
/// name is replaced only by a complete one.
class trace_file {
 public:
  /// Throws `config_error` when `path` could not be written at the end of the run. Leaves what is there untouched.
  static void check_writable(const std::string& path);

  /// Throws `error` when it cannot be written.
  explicit trace_file(const std::string& path);
  /// One that is not complete goes.
  ~trace_file();
  trace_file(const trace_file&) = delete;
  trace_file& operator=(const trace_file&) = delete;

  /// Events separated by commas, or nothing.
  void add(std::string_view fragment);
  /// It is complete: of `num_recorded` of the `num_ranks` ranks. Throws `error` when any of it could not be written.
  void finish(int num_ranks, int num_recorded);

 private:
  struct destination;
  void put(std::string_view text);

  const std::string path_;
  std::unique_ptr<destination> to_;
  std::FILE* file_ = nullptr;
  bool good_ = true;
  bool is_first_ = true;
};

}  // namespace imbrex
