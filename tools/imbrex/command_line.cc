#include "command_line.h"

#include <fmt/format.h>
#include <imbrex/runtime/options/options.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace {

/// Whether an option of the runtime takes the word that follows it.
bool takes_next(std::string_view option, std::string_view next) {
  constexpr std::string_view prefix = "--imbrex-";
  if (!option.starts_with(prefix) || option.find('=') != std::string_view::npos) return false;
  const std::string_view name = option.substr(prefix.size());
  const std::vector<imbrex::setting>& known = imbrex::runtime_settings();
  const auto found = std::ranges::find_if(known, [&](const imbrex::setting& s) { return s.name == name; });
  if (found == known.end()) return false;
  constexpr std::string_view of_flags[] = {"on", "off", "true", "false", "yes", "no"};
  return found->kind != imbrex::setting_kind::flag || std::ranges::find(of_flags, next) != std::end(of_flags);
}

bool starts_other_programs(std::string_view command) {
  return command == "predict" || command == "figures" || command == "mpi-check";
}

/// The first word left over that looks like an option, of the tool or of the command that was named; or empty.
std::string unknown_option(const CLI::App& app) {
  for (const std::string& word : app.remaining(true)) {
    if (word.size() > 1 && word.front() == '-' && word != "--") return word;
  }
  return "";
}

}  // namespace

int place_of_command(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return argc;
    if (!word.starts_with('-')) return i;
    if (i + 1 < argc && takes_next(word, argv[i + 1])) ++i;
  }
  return argc;
}

std::vector<std::string> take_job(int& argc, char** argv) {
  const int command = place_of_command(argc, argv);
  if (command == argc || std::string_view(argv[command]) != "run") return {};
  for (int i = command + 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    std::vector<std::string> job(argv + i + 1, argv + argc);
    argc = i;
    argv[i] = nullptr;
    return job;
  }
  return {};
}

imbrex::config read_own_options(int& argc, char** argv) {
  const int command = place_of_command(argc, argv);
  const bool is_other = command < argc && starts_other_programs(argv[command]);
  int own = is_other ? command + 1 : argc;
  const std::vector<char*> others(argv + own, argv + argc);
  imbrex::config settings = imbrex::read_runtime_config(own, argv);
  std::ranges::copy(others, argv + own);
  argc = own + static_cast<int>(others.size());
  argv[argc] = nullptr;
  return settings;
}

/// Of a command that has commands of its own; else empty.
static std::string unknown_subcommand(const CLI::App& command, const std::string& word) {
  if (word.empty() || word.front() == '-') return {};
  std::string names;
  for (const CLI::App* c : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (c->get_name() == word) return {};
    names += (names.empty() ? "" : ", ") + c->get_name();
  }
  return names.empty() ? names : fmt::format("there is no command '{} {}', but {}", command.get_name(), word, names);
}

std::string complaint(const CLI::ParseError& e, const CLI::App& app, int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  const auto is_that = [&](const CLI::App* c) { return c->get_name() == first; };
  const bool is_command = first.empty() || first.front() == '-' || !app.get_subcommands(is_that).empty();
  if (!is_command) return fmt::format("there is no command '{}'", first);
  if (const auto commands = app.get_subcommands(is_that); !commands.empty() && argc > 2) {
    if (const std::string named = unknown_subcommand(*commands.front(), argv[2]); !named.empty()) return named;
  }
  if (const std::string option = unknown_option(app); !option.empty()) {
    const char* const whose = app.got_subcommand("mpi-check") ? ": the program and its options stand after --" : "";
    return fmt::format("there is no option '{}'{}", option, whose);
  }
  std::string text = e.what();
  const bool is_name =
      text.size() > 1 && std::isupper(static_cast<unsigned char>(text[1])) != 0;  // "FOLDER is required"
  if (!text.empty() && !is_name)
    text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return text;
}
