#pragma once

#include <string>
#include <vector>

#include "imbrex/device/kernel/kernel.h"

namespace imbrex::detail {

/// The C++ compiler of the machine that runs the program, for kernels whose text came at run time. What it makes is
/// kept in `$XDG_CACHE_HOME/imbrex/kernels` (else under `$HOME/.cache`) and found by the next run.
class cpu_compiler {
 public:
  /// What CXX in the environment says, else the first of c++, g++, clang++ on the PATH.
  static bool is_there();
  /// What to do where there is none.
  static constexpr const char* remedy = "install g++ or clang++, or let CXX in the environment name a C++ compiler";

  /// The functions of the kernels of that text, in their order; they stay for the rest of the process. `shown`: what
  /// errors call the text. Throws `usage_error` with what the compiler says, and `not_built` without one.
  static std::vector<cpu_function> compile(const std::string& text, const std::string& shown,
                                           const std::vector<std::string>& kernels);
};

}  // namespace imbrex::detail
