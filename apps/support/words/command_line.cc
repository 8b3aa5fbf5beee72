#include "support/words/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>

#include "imbrex/base/error.h"
#include "support/words/own_arguments.h"

namespace apps {
namespace {

std::string of_runtime(std::string_view own) { return fmt::format("--imbrex-{}", own.substr(2)); }

bool is_given(const std::string& option, int argc, const char* const* argv) {
  return std::any_of(argv + 1, argv + argc,
                     [&](const std::string_view argument) { return argument.substr(0, argument.find('=')) == option; });
}

}  // namespace

bool parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(own_arguments_reversed(argc, argv));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::ParseError& e) {
    throw imbrex::usage_error(fmt::format("{}: see {} --help", one_line(e.what()), app.get_name()));
  }
  return true;
}

void refuse_said_twice(const CLI::App& app, int argc, const char* const* argv,
                       std::initializer_list<const char*> options) {
  for (const char* const own : options) {
    if (app.count(own) > 0 && is_given(of_runtime(own), argc, argv))
      throw imbrex::usage_error(fmt::format("{} and {} say the same: give one", own, of_runtime(own)));
  }
}

void take_from_runtime(const CLI::App& app, int argc, const char* const* argv, const char* option, std::string& value) {
  const std::string other = of_runtime(option);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::size_t end = argument.find('=');
    if (argument.substr(0, end) != other) continue;
    const std::string_view theirs = end != std::string_view::npos ? argument.substr(end + 1)
                                    : i + 1 < argc                ? argv[i + 1]
                                                                  : "";
    if (app.count(option) > 0 && value != theirs)
      throw imbrex::usage_error(
          fmt::format("{} {} and {} {} contradict each other: give one", option, value, other, theirs));
    value = theirs;
  }
}

void refuse_without(const CLI::App& app, const char* needs, std::initializer_list<const char*> options) {
  for (const char* const option : options) {
    if (app.count(option) > 0) throw imbrex::usage_error(fmt::format("{} needs {}: leave it out", option, needs));
  }
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

}  // namespace apps
