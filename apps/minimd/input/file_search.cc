#include "input/file_search.h"

#include <fmt/format.h>

#include <filesystem>

#include "imbrex/base/error.h"

namespace md {
namespace {

/// Pipes and devices are files, too.
bool is_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error);
}

}  // namespace

std::string find_file(const std::string& name, const std::string& input, const std::string& what,
                      const std::string& remedy) {
  if (is_file(name)) return name;
  const std::filesystem::path beside = std::filesystem::path(input).parent_path() / name;
  if (is_file(beside)) return beside.string();
  const std::string second = beside == name ? std::string() : fmt::format(", nor {} beside the input", beside.string());
  throw imbrex::config_error(
      fmt::format("{} names {} '{}', but there is no file {}{}: {}", input, what, name, name, second, remedy));
}

}  // namespace md
