#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

/// What the command lines of dgemm and tiled_dgemm have in common.
namespace dgemm {

/// Reads the arguments that do not start with `--imbrex-` (those, with the value that follows them where there is one,
/// belong to the runtime). False: help was asked for, and printed to stdout. Throws `usage_error`.
bool parse(CLI::App& app, int argc, const char* const* argv);

/// Throws `usage_error` unless the list has values, each from `least` to `most` and a multiple of `unit`.
void check_list(const char* option, const std::vector<int>& values, int least, int most, int unit = 1);

/// The words as they were typed.
std::string command_of(int argc, const char* const* argv);

/// The words for the runtime: the command line, and `--imbrex-NAME=VALUE` where the user says nothing about it there or
/// in the environment.
class runtime_words {
 public:
  runtime_words(int argc, const char* const* argv) : words_(argv, argv + argc) {}
  void add_default(const std::string& name, const std::string& value);
  /// For `imbrex::run`; valid as long as this lives.
  std::vector<char*> pointers();

 private:
  std::vector<std::string> words_;
};

}  // namespace dgemm
