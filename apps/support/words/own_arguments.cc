#include "support/words/own_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "imbrex/base/error.h"

namespace apps {

namespace {

/// CLI11 would take an empty word for a number that is 0, or for an option that is not given.
[[noreturn]] void refuse_empty(std::string_view before) {
  if (before.starts_with("-"))
    throw imbrex::usage_error(fmt::format("{} is empty: give it a value, or leave it out", before));
  throw imbrex::usage_error("an argument is empty: leave it out");
}

void check_not_empty(std::string_view argument, std::string_view before) {
  if (argument.empty()) refuse_empty(before);
  if (argument.starts_with("--") && argument.ends_with("=")) refuse_empty(argument.substr(0, argument.size() - 1));
}

}  // namespace

std::vector<std::string> own_arguments(int argc, const char* const* argv) {
  std::vector<std::string> own;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("--imbrex-")) {
      check_not_empty(argument, i > 1 ? argv[i - 1] : "");
      own.emplace_back(argument);
    } else if (argument.find('=') == std::string_view::npos && i + 1 < argc && argv[i + 1][0] != '-') {
      ++i;
    }
  }
  return own;
}

std::vector<std::string> own_arguments_reversed(int argc, const char* const* argv) {
  std::vector<std::string> own = own_arguments(argc, argv);
  std::ranges::reverse(own);
  return own;
}

void refuse_runtime_arguments(int argc, const char* const* argv, const std::string& impl) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (!argument.starts_with("--imbrex-")) continue;
    throw imbrex::usage_error(fmt::format("{} needs the runtime, without which {} runs: leave one of them out",
                                          argument.substr(0, argument.find('=')), impl));
  }
}

std::string one_line(std::string fault) {
  constexpr std::string_view begin = "Could not convert: ", middle = " = ";
  std::ranges::replace(fault, '\n', ' ');
  if (!fault.starts_with(begin)) return fault;
  fault.erase(0, begin.size());
  const std::size_t at = fault.find(middle);
  if (at == std::string::npos) return fault + " cannot be used";
  return fmt::format("{}: {} is no number that can be used", fault.substr(0, at), fault.substr(at + middle.size()));
}

}  // namespace apps
