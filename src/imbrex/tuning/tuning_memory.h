#pragma once

#include <optional>
#include <string>
#include <vector>

#include "imbrex/tuning/tuning_point.h"

namespace imbrex {

/// What was found best before, in a file: JSON, a list of entries. Written whole and renamed; of programs that end at
/// the same time one's findings may be lost. One thread.
class tuning_memory {
 public:
  /// What a finding is of: it counts only where all of it is the same.
  struct subject {
    std::string program, problem, machine, parameters;
  };

  /// `path` empty: remembers nothing.
  explicit tuning_memory(std::string path) : path_(std::move(path)) {}

  /// What `--imbrex-tuning` names: a path; "auto": `$XDG_CACHE_HOME/imbrex/tuning.json`, or that under `$HOME/.cache`,
  /// or nowhere, where neither is set; "none": nowhere, "".
  static std::string path_of(const std::string& option);

  /// The values found best, in the order of the parameters. A file that cannot be read counts as empty, with a warning.
  std::optional<std::vector<int>> find(const subject& of) const;
  /// A file that cannot be written is warned of.
  void keep(const subject& of, const tuning_point& best, double cost) const;

 private:
  std::string path_;
};

}  // namespace imbrex
