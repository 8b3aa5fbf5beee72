#include "described_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<named_command> all_commands(const CLI::App& app) {
  std::vector<named_command> all;
  for (const CLI::App* c : commands_of(app)) {
    all.push_back({c->get_name(), c});
    for (const named_command& inner : all_commands(*c)) all.push_back({c->get_name() + " " + inner.words, inner.app});
  }
  return all;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> all;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& n : o->get_lnames()) all.push_back("--" + n);
    for (const std::string& n : o->get_snames()) all.push_back("-" + n);
  }
  return all;
}

// The descriptions of choices, "TEXT:{bash,zsh,fish}", are all that an option tells of them.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string text = option.get_type_name();
  const std::size_t begin = text.find(":{");
  const std::size_t end = text.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  std::vector<std::string> all;
  std::istringstream list(text.substr(begin + 2, end - begin - 2));
  for (std::string value; std::getline(list, value, ',');) all.push_back(value);
  return all;
}

CLI::Validator offers(const std::vector<std::string>& values) {
  const std::string description = values.empty() ? "" : fmt::format("{{{}}}", fmt::join(values, ","));
  return CLI::Validator([](std::string&) { return std::string(); }, description);
}

bool is_other_program(const CLI::App& app) { return app.get_prefix_command(); }
