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

namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// `--long` and `-s` names, with dashes.
std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> all;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& n : o->get_lnames()) all.push_back("--" + n);
    for (const std::string& n : o->get_snames()) all.push_back("-" + n);
  }
  return all;
}

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

/// Files where nothing else fits.
std::string for_bash(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* c : commands_of(app)) {
    names += c->get_name() + " ";
    cases += fmt::format("    {}) words='{}' ;;\n", c->get_name(), joined(options_of(*c)));
  }
  return fmt::format(R"(# imbrex completion bash > ~/.local/share/bash-completion/completions/imbrex
_imbrex() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command= words= w
  for w in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $w == -* ]] || {{ command=$w; break; }}
  done
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
                     names, joined(options_of(app)), cases, joined(runtime_options()));
}

std::string for_zsh(const CLI::App& app) {
  std::string described;
  std::string cases;
  for (const CLI::App* c : commands_of(app)) {
    std::string text = c->get_description();
    std::erase(text, ':');
    described += "    " + quoted(c->get_name() + ":" + text) + "\n";
    cases += fmt::format("    {}) compadd -- {}; _files ;;\n", c->get_name(), joined(options_of(*c)));
  }
  return fmt::format(R"(#compdef imbrex
# imbrex completion zsh > a folder of $fpath, as _imbrex
_imbrex() {{
  local -a commands=(
{}  )
  if [[ $PREFIX == --imbrex* ]]; then
    compadd -S '' -- {}
    return
  fi
  if ((CURRENT == 2)); then
    _describe command commands
    compadd -- {}
    return
  fi
  case $words[2] in
{}  esac
}}
_imbrex "$@"
)",
                     described, joined(runtime_options()), joined(options_of(app)), cases);
}

std::string for_fish(const CLI::App& app) {
  std::string text = "# imbrex completion fish > ~/.config/fish/completions/imbrex.fish\n";
  std::string names;
  for (const CLI::App* c : commands_of(app)) names += c->get_name() + " ";
  for (const CLI::App* c : commands_of(app)) {
    text += fmt::format("complete -c imbrex -n 'not __fish_seen_subcommand_from {}' -f -a {} -d {}\n", names,
                        c->get_name(), quoted(c->get_description()));
    for (const CLI::Option* o : c->get_options()) {
      for (const std::string& n : o->get_lnames()) {
        text += fmt::format("complete -c imbrex -n '__fish_seen_subcommand_from {}' -l {} -d {}\n", c->get_name(), n,
                            quoted(o->get_description()));
      }
    }
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
