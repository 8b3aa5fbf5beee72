#include "support/own_arguments.h"

#include <algorithm>
#include <string_view>

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

}  // namespace apps
