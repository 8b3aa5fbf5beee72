#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace imbrex {

/// Compiled programs of OpenCL as files, so that the next run need not compile them: one file for each `program`, named
/// by a hash of what it was made from and holding all of that, so that another's file is never taken for it. Files that
/// are broken count as absent. Any thread, any process; nothing here throws: without a folder, or where it cannot be
/// written, nothing is kept.
class opencl_program_cache {
 public:
  /// What a binary depends on.
  struct program {
    std::string source, options;
    std::string device, driver;  ///< the device's name, and its driver's name and version
  };

  /// An empty folder: none. It is made when the first program is kept.
  explicit opencl_program_cache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// `$XDG_CACHE_HOME/imbrex/opencl`, or that under `$HOME/.cache`; empty where neither is set.
  static std::filesystem::path default_folder();

  std::optional<std::vector<unsigned char>> find(const program& p) const;
  void keep(const program& p, const std::vector<unsigned char>& binary) const;
  /// Where `p` is, or would be.
  std::filesystem::path file_of(const program& p) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace imbrex
