#include "support/own_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "imbrex/base/error.h"

namespace apps {

std::vector<std::string> own_arguments(int argc, const char* const* argv) {
  std::vector<std::string> own;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("--imbrex-")) {
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
