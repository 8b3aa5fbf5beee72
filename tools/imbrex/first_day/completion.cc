// `imbrex completion SHELL`: what a shell needs to complete the tool's command line, made from the command line itself.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imbrex/base/error.h>
#include <imbrex/runtime/options/options.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "commands.h"
#include "described_command.h"

namespace {

/// Those of the runtime, `--imbrex-...=`, from their help.
std::vector<std::string> runtime_options() {
  std::vector<std::string> all;
  std::istringstream lines(imbrex::options_help());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("--imbrex-");
    if (at == std::string::npos || at > 4) continue;
    const std::size_t end = line.find_first_of(" =[", at);
    std::string name = line.substr(at, end - at);
    // `--imbrex-pes N`, with more spaces before what it means
    const bool takes_value = end + 1 < line.size() && line[end] == ' ' && line[end + 1] != ' ';
    if (takes_value) name += '=';
    all.push_back(std::move(name));
  }
  return all;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

/// What a command with `--help` lists, asked for when it is wanted; it is written as the shell wants it.
std::string asked_options(const std::string& words) {
  return fmt::format(R"($({} --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u))", words);
}

/// Options, commands that belong to it, and what its first argument may be.
std::vector<std::string> offered_by(const CLI::App& app) {
  std::vector<std::string> all;
  for (const CLI::App* c : commands_of(app)) all.push_back(c->get_name());
  for (const CLI::Option* o : app.get_options()) {
    if (!o->get_positional()) continue;
    for (const std::string& v : values_of(*o)) all.push_back(v);
  }
  for (const std::string& o : options_of(app)) all.push_back(o);
  return all;
}

/// A branch of `case` for each option with known values: of "COMMAND --option". `then` is what is done with `{}`.
std::string cases_of_values(const CLI::App& app, const char* then) {
  std::string cases;
  for (const named_command& c : all_commands(app)) {
    for (const CLI::Option* o : c.app->get_options()) {
      const std::vector<std::string> values = values_of(*o);
      if (o->get_positional() || values.empty()) continue;
      cases += fmt::format("    '{} --{}') {} ;;\n", c.words, o->get_lnames().front(),
                           fmt::format(fmt::runtime(then), joined(values)));
    }
  }
  return cases;
}

/// Those that belong to others, as alternatives of a pattern: 'trace summary'|'trace page'.
std::string inner_commands(const CLI::App& app) {
  std::string pattern;
  for (const named_command& c : all_commands(app)) {
    if (c.words.find(' ') != std::string::npos) pattern += fmt::format("|'{}'", c.words);
  }
  return pattern;
}

/// Files where nothing else fits.
std::string for_bash(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* c : commands_of(app)) names += c->get_name() + " ";
  for (const named_command& c : all_commands(app)) {
    const std::string words = is_other_program(*c.app) ? asked_options("\"${COMP_WORDS[0]}\" $command")
                                                       : "'" + joined(offered_by(*c.app)) + "'";
    cases += fmt::format("    '{}') words={} ;;\n", c.words, words);
  }
  return fmt::format(R"(# imbrex completion bash > ~/.local/share/bash-completion/completions/imbrex
_imbrex() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= words= w
  for w in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $w == -* ]] && continue
    case "$command $w" in
      ' '*{}) command="${{command:+$command }}$w" ;;
    esac
  done
  case "$command $before" in
{}  esac
  case $command in
    '') words='{} {}' ;;
{}  esac
  [[ $word == --imbrex* ]] && words='{}'
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if ((${{#COMPREPLY[@]}} == 0)); then COMPREPLY=($(compgen -f -- "$word")); fi
  [[ ${{#COMPREPLY[@]}} == 1 && ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace
  return 0
}}
complete -F _imbrex imbrex
)",
                     inner_commands(app), cases_of_values(app, "COMPREPLY=($(compgen -W '{}' -- \"$word\")); return 0"),
                     names, joined(options_of(app)), cases, joined(runtime_options()));
}

std::string for_zsh(const CLI::App& app) {
  std::string described;
  std::string cases;
  for (const CLI::App* c : commands_of(app)) {
    std::string text = c->get_description();
    std::erase(text, ':');
    described += "    " + quoted(c->get_name() + ":" + text) + "\n";
  }
  for (const named_command& c : all_commands(app)) {
    const std::string words =
        is_other_program(*c.app) ? asked_options("\"$words[1]\" ${=command}") : joined(offered_by(*c.app));
    cases += fmt::format("    '{}') compadd -- {}; _files ;;\n", c.words, words);
  }
  return fmt::format(R"(#compdef imbrex
# imbrex completion zsh > a folder of $fpath, as _imbrex
_imbrex() {{
  local -a commands=(
{}  )
  local command= w
  if [[ $PREFIX == --imbrex* ]]; then
    compadd -S '' -- {}
    return
  fi
  if ((CURRENT == 2)); then
    _describe command commands
    compadd -- {}
    return
  fi
  for w in "${{(@)words[2,CURRENT-1]}}"; do
    [[ $w == -* ]] && continue
    case "$command $w" in
      (' '*{}) command="${{command:+$command }}$w" ;;
    esac
  done
  case "$command $words[CURRENT-1]" in
{}  esac
  case $command in
{}  esac
}}
_imbrex "$@"
)",
                     described, joined(runtime_options()), joined(options_of(app)), inner_commands(app),
                     cases_of_values(app, "compadd -- {}; return"), cases);
}

/// The condition of fish that these are the words so far.
std::string seen(const std::string& words) {
  std::string condition;
  std::istringstream each(words);
  for (std::string w; each >> w;)
    condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + w);
  return condition;
}

std::string options_for_fish(const named_command& c) {
  std::string text;
  for (const CLI::Option* o : c.app->get_options()) {
    const std::vector<std::string> values = values_of(*o);
    const std::string given = values.empty() ? "" : fmt::format(" -x -a '{}'", joined(values));
    if (o->get_positional() && !values.empty())
      text += fmt::format("complete -c imbrex -n '{}'{}\n", seen(c.words), given);
    for (const std::string& n : o->get_lnames()) {
      text += fmt::format("complete -c imbrex -n '{}' -l {}{} -d {}\n", seen(c.words), n, given,
                          quoted(o->get_description()));
    }
  }
  if (is_other_program(*c.app)) {
    text += fmt::format(
        "complete -c imbrex -n '{}' -a \"(imbrex {} --help 2>/dev/null | string match -ar -- "
        "'--[a-z][a-z-]*')\"\n",
        seen(c.words), c.words);
  }
  return text;
}

std::string for_fish(const CLI::App& app) {
  std::string text = "# imbrex completion fish > ~/.config/fish/completions/imbrex.fish\n";
  std::string names;
  for (const CLI::App* c : commands_of(app)) names += c->get_name() + " ";
  for (const named_command& c : all_commands(app)) {
    const std::size_t space = c.words.rfind(' ');
    const std::string where =
        space == std::string::npos ? "not __fish_seen_subcommand_from " + names : seen(c.words.substr(0, space));
    text += fmt::format("complete -c imbrex -n '{}' -f -a {} -d {}\n", where, c.app->get_name(),
                        quoted(c.app->get_description()));
    text += options_for_fish(c);
  }
  for (std::string o : runtime_options()) {
    const bool takes = o.back() == '=';
    if (takes) o.pop_back();
    text += fmt::format("complete -c imbrex -l {}{}\n", o.substr(2), takes ? " -x" : "");
  }
  return text;
}

}  // namespace

void add_completion_command(CLI::App& app, std::function<int()>& command) {
  auto shell = std::make_shared<std::string>();
  CLI::App* const c =
      app.add_subcommand("completion", "what bash, zsh or fish needs to complete this tool's command line");
  c->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  c->callback([&app, shell, &command] {
    command = [&app, shell] {
      fmt::print("{}", *shell == "bash" ? for_bash(app) : *shell == "zsh" ? for_zsh(app) : for_fish(app));
      return 0;
    };
  });
}
