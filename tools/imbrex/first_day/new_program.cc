// `imbrex new NAME`: a program to begin with, that builds, has tests, and runs on a cluster.
#include <fmt/format.h>
#include <imbrex/base/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "commands.h"
#include "first_day/template.h"

namespace {

struct wishes {
  std::string name;
  std::string folder;
};

/// A target of CMake and a file.
void check_name(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0 || !std::ranges::all_of(name, fits)) {
    throw imbrex::usage_error(
        fmt::format("'{}' is no name for a program: letters, digits, _ and -, a letter first", name));
  }
  if (name.size() > 100) {
    throw imbrex::usage_error(
        fmt::format("a name of {} letters is too long for a program: use at most 100", name.size()));
  }
  constexpr std::string_view taken[] = {"test",       "all",           "install", "clean",          "help",
                                        "edit_cache", "rebuild_cache", "package", "package_source", "ZERO_CHECK",
                                        "ALL_BUILD",  "RUN_TESTS",     "INSTALL", "PACKAGE",        "preinstall"};
  if (std::ranges::find(taken, name) != std::end(taken)) {
    throw imbrex::usage_error(fmt::format("'{}' is a word of build tools: another name", name));
  }
}

std::string with_name(std::string_view text, const std::string& name) {
  constexpr std::string_view mark = "@name@";
  std::string result(text);
  for (std::size_t at = 0; (at = result.find(mark, at)) != std::string::npos; at += name.size())
    result.replace(at, mark.size(), name);
  return result;
}

/// As a shell reads it as one word.
std::string for_shell(const std::string& word) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || std::strchr("_-./+,:@%=", c) != nullptr; };
  if (std::ranges::all_of(word, plain)) return word;
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

int make(const wishes& w) {
  check_name(w.name);
  const std::filesystem::path folder =
      w.folder.empty() ? std::filesystem::path(w.name) : std::filesystem::path(w.folder);
  std::error_code none;
  if (std::filesystem::exists(folder, none) &&
      (!std::filesystem::is_directory(folder, none) || !std::filesystem::is_empty(folder, none))) {
    throw imbrex::usage_error(
        fmt::format("{} is there and not empty: choose another folder by --folder", folder.string()));
  }
  for (const template_file& f : template_files()) {
    const std::filesystem::path to = folder / f.to;
    std::error_code failed;
    std::filesystem::create_directories(to.parent_path(), failed);
    if (failed)
      throw imbrex::config_error(fmt::format("the folder {} cannot be made: {}: choose another by --folder",
                                             to.parent_path().string(), failed.message()));
    std::ofstream out(to);
    out << with_name(f.text, w.name);
    if (!out.flush()) throw imbrex::config_error(fmt::format("{} could not be written", to.string()));
  }
  fmt::print(
      "{}: a ring of chares, with tests\n  cd {} && cmake -B build && cmake --build build && ctest --test-dir build\n",
      folder.string(), for_shell(folder.string()));
  return 0;
}

}  // namespace

void add_new_command(CLI::App& app, std::function<int()>& command) {
  auto w = std::make_shared<wishes>();
  CLI::App* const c = app.add_subcommand("new", "a program to begin with: CMake, tests, a Slurm script, CI, README");
  c->add_option("name", w->name, "of the program")->required();
  c->add_option("--folder", w->folder, "where it goes; default: a new folder of that name");
  c->callback([w, &command] { command = [w] { return make(*w); }; });
}
