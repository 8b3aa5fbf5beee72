#pragma once

#include <string>
#include <vector>

namespace apps {

/// The words for the runtime: the command line, and what the program adds to it.
class runtime_words {
 public:
  runtime_words(int argc, const char* const* argv) : words_(argv, argv + argc) {}
  /// `--imbrex-NAME=VALUE`, whatever else is said.
  void add(const std::string& name, const std::string& value);
  /// The same where the user says nothing about it on the command line or in the environment.
  void add_default(const std::string& name, const std::string& value);
  /// Whether the user, or `add`, says something about it.
  bool has(const std::string& name) const;
  int count() const { return static_cast<int>(words_.size()); }
  /// For `imbrex::run`; valid as long as this lives, and nothing is added.
  std::vector<char*> pointers();

 private:
  std::vector<std::string> words_;
};

}  // namespace apps
