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

}  // namespace apps
