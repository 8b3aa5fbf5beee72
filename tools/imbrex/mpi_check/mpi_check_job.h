#pragma once

#include <string>

#include "mpi_check.h"

namespace mpi_check {

/// Starts the command again and again, each time in another variant. What it prints goes to files.
class job {
 public:
  /// Makes the folder `o.output`/runs. Throws `usage_error` where that cannot be, `not_built` where there is no
  /// library; `usage_error` too where the command has a program into which no library can be loaded.
  explicit job(const options& o);

  /// Runs it to its end, which blocks; `name` names the files of this run. `delay_ns` for variants that inject.
  /// Throws `usage_error` where the command cannot be started, `error` where the library was to report and did not.
  run start(const variant& v, const std::string& name, const std::optional<long>& delay_ns) const;

  /// The last lines of what a run wrote on stderr, and the file's path.
  std::string last_words(const std::string& name) const;

 private:
  std::string file(const std::string& name, const std::string& ending) const;
  std::vector<std::string> environment(const variant& v, const std::string& report,
                                       const std::optional<long>& delay_ns) const;

  options options_;
  std::string library_;
};

}  // namespace mpi_check
