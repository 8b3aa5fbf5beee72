#include "imbrex/virtual_time/machine/machine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"
#include "imbrex/virtual_time/machine/known_machines.h"
#include "imbrex/virtual_time/machine/machine_text.h"

namespace imbrex {

std::vector<std::string> known_machines() {
  std::vector<std::string> names;
  for (const auto& known : detail::all_known_machines()) names.emplace_back(known.name);
  return names;
}

std::string text_of_known_machine(const std::string& name) {
  for (const auto& known : detail::all_known_machines()) {
    if (known.name == name) return std::string(known.text);
  }
  throw config_error(fmt::format("there is no machine '{}': imbrex knows {}, or give a file such as ./mine.toml", name,
                                 fmt::join(known_machines(), ", ")));
}

std::string text_of_machine(const std::string& name_or_file) {
  const bool is_file = name_or_file.find('/') != std::string::npos || name_or_file.ends_with(".toml");
  if (!is_file) return text_of_known_machine(name_or_file);
  std::error_code ignored;
  const std::ifstream in(name_or_file);
  if (!in || std::filesystem::is_directory(name_or_file, ignored)) {
    throw config_error(fmt::format("the machine {} cannot be read: give a file, or a machine that imbrex knows: {}",
                                   name_or_file, fmt::join(known_machines(), ", ")));
  }
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

machine read_machine(const std::string& name_or_file) {
  return detail::machine_from_text(text_of_machine(name_or_file), name_or_file);
}

#if !IMBREX_HAVE_TOML
machine detail::machine_from_text(const std::string&, const std::string&) {
  throw not_built(
      "this build knows no machines to run in virtual time on: install libtomlplusplus-dev, then build again");
}
#endif

}  // namespace imbrex
