#include "command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "imbrex/base/error.h"
#include "support/own_arguments.h"

namespace dgemm {
namespace {

std::string variable_of(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
  return "IMBREX_" + name;
}

}  // namespace

bool parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(apps::own_arguments_reversed(argc, argv));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::ParseError& e) {
    throw imbrex::usage_error(fmt::format("{}: see {} --help", apps::one_line(e.what()), app.get_name()));
  }
  return true;
}

void check_list(const char* option, const std::vector<int>& values, int least, int most, int unit) {
  if (values.empty()) throw imbrex::usage_error(fmt::format("{} is empty", option));
  for (const int v : values) {
    if (v >= least && v <= most && v % unit == 0) continue;
    const std::string multiples = unit > 1 ? fmt::format(" that are multiples of {}", unit) : std::string();
    throw imbrex::usage_error(
        fmt::format("{} {} cannot be used: use numbers from {} to {}{}", option, v, least, most, multiples));
  }
}

std::string command_of(int argc, const char* const* argv) {
  return fmt::format("{}", fmt::join(argv, argv + argc, " "));
}

void runtime_words::add_default(const std::string& name, const std::string& value) {
  const std::string option = "--imbrex-" + name;
  if (std::getenv(variable_of(name).c_str()) != nullptr) return;
  for (const std::string& w : words_) {
    if (w.starts_with(option) && (w.size() == option.size() || w[option.size()] == '=')) return;
  }
  words_.push_back(option + "=" + value);
}

std::vector<char*> runtime_words::pointers() {
  std::vector<char*> all;
  all.reserve(words_.size() + 1);
  for (std::string& w : words_) all.push_back(w.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace dgemm
