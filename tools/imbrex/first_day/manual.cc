// `imbrex man FOLDER`: manual pages of the tool, of each of its commands, and of the options of every program on
// imbrex, made from the command line itself.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imbrex/base/build_config.h>
#include <imbrex/base/error.h>
#include <imbrex/runtime/options/options.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "commands.h"
#include "described_command.h"

namespace {

/// As troff reads it.
std::string plain(std::string_view text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    line_begins = c == '\n';
  }
  return result;
}

std::string head(const std::string& name, const std::string& what, int section) {
  return fmt::format(".TH {} {} \"\" \"imbrex {}\"\n.SH NAME\n{} \\- {}\n", name, section, IMBREX_VERSION, plain(name),
                     plain(what));
}

std::string described_options(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* o : app.get_options()) {
    text += fmt::format(".TP\n.B {}\n{}", plain(o->get_name(false, true)), plain(o->get_description()));
    if (!o->get_default_str().empty()) text += fmt::format(" (default: {})", plain(o->get_default_str()));
    if (const std::vector<std::string> values = values_of(*o); !values.empty())
      text += fmt::format(" [{}]", plain(fmt::format("{}", fmt::join(values, ", "))));
    text += "\n";
  }
  return text;
}

/// "imbrex-trace-summary", of "trace summary".
std::string page_name(std::string words) {
  std::ranges::replace(words, ' ', '-');
  return "imbrex-" + words;
}

/// Those that belong to one, whose words are given.
std::string list_of_commands(const CLI::App& app, const std::string& words) {
  std::string text = ".SH COMMANDS\n";
  for (const CLI::App* c : commands_of(app)) {
    const std::string page = page_name(words.empty() ? c->get_name() : words + " " + c->get_name());
    text += fmt::format(".TP\n.B {}\n{}; {}(1)\n", plain(c->get_name()), plain(c->get_description()), plain(page));
  }
  return text;
}

std::string page_of_command(const named_command& named) {
  const CLI::App& c = *named.app;
  std::string text = head(page_name(named.words), c.get_description(), 1);
  std::string positionals;
  for (const CLI::Option* o : c.get_options()) {
    if (o->get_positional()) positionals += " " + o->get_name(true);
  }
  text += fmt::format(".SH SYNOPSIS\n.B imbrex {}\n[options]{}\n", plain(named.words), plain(positionals));
  if (!commands_of(c).empty()) text += list_of_commands(c, named.words);
  text += ".SH OPTIONS\n" + described_options(c);
  if (is_other_program(c))
    text += fmt::format("They are those that\n.B imbrex {} \\-\\-help\nlists.\n", plain(named.words));
  if (!c.get_footer().empty()) text += ".SH NOTES\n" + plain(c.get_footer()) + "\n";
  return text + ".SH SEE ALSO\nimbrex(1), imbrex\\-options(7)\n";
}

std::string page_of_tool(const CLI::App& app) {
  std::string text = head("imbrex", "message-driven tasks on CPU and GPU clusters: the tool", 1);
  text += ".SH SYNOPSIS\n.B imbrex\n.I command\n[options]\n" + list_of_commands(app, "");
  text += ".SH OPTIONS\n" + described_options(app);
  text += ".SH EXIT STATUS\n0: it worked. 1: it did not, or what it looked for is wrong. 2: the command line.\n";
  return text + ".SH SEE ALSO\nimbrex\\-options(7)\n";
}

std::string page_of_options() {
  std::string text = head("imbrex-options", "options and environment variables of every program on imbrex", 7);
  return text + ".SH DESCRIPTION\n.nf\n" + plain(imbrex::options_help()) +
         ".fi\n.SH EXIT STATUS\nWhat the main chare returns; 2 for wrong options; 70 when an entry method or a task "
         "has "
         "thrown, or the program waits for what never happens.\n.SH SEE ALSO\nimbrex(1)\n";
}

int write_pages(const CLI::App& app, const std::filesystem::path& folder) {
  int num_pages = 0;
  const auto write = [&](const std::string& name, int section, const std::string& text) {
    const std::filesystem::path place = folder / fmt::format("man{}", section);
    std::error_code failed;
    std::filesystem::create_directories(place, failed);
    if (failed)
      throw imbrex::config_error(
          fmt::format("the folder {} cannot be made: {}: give another", place.string(), failed.message()));
    const std::filesystem::path file = place / fmt::format("{}.{}", name, section);
    std::ofstream out(file);
    out << text;
    if (!out.flush()) throw imbrex::config_error(fmt::format("{} could not be written", file.string()));
    ++num_pages;
  };
  write("imbrex", 1, page_of_tool(app));
  for (const named_command& c : all_commands(app)) write(page_name(c.words), 1, page_of_command(c));
  write("imbrex-options", 7, page_of_options());
  fmt::print("{} pages in {}: man -M {} imbrex\n", num_pages, folder.string(), folder.string());
  return 0;
}

}  // namespace

void add_man_command(CLI::App& app, std::function<int()>& command) {
  auto folder = std::make_shared<std::string>("man");
  CLI::App* const c = app.add_subcommand("man", "writes manual pages of this tool and of all programs' options");
  c->add_option("folder", *folder, "where man1 and man7 go")->capture_default_str();
  c->callback([&app, folder, &command] { command = [&app, folder] { return write_pages(app, *folder); }; });
}
