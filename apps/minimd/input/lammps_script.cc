#include "input/lammps_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <ranges>
#include <utility>

#include "input/lammps_words.h"

namespace md {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The line without a `&` at its end, if it has one there.
std::optional<std::string_view> continued(std::string_view line) {
  const std::size_t last = line.find_last_not_of(" \t\r");
  if (last == std::string_view::npos || line[last] != '&') return std::nullopt;
  return line.substr(0, last);
}

std::optional<lammps_command> command_of(text_place place, const std::string& line) {
  std::vector<std::string> words = quoted_words(line, place);
  if (words.empty()) return std::nullopt;
  lammps_command command{place, std::move(words.front()), {}};
  command.arguments.assign(std::make_move_iterator(words.begin() + 1), std::make_move_iterator(words.end()));
  return command;
}

}  // namespace

void lammps_variables::define(const lammps_command& command) {
  const std::vector<std::string>& a = command.arguments;
  if (a.size() < 3 || (a[1] != "index" && a[1] != "equal"))
    command.place.refuse_value("variable", fmt::format("{}", fmt::join(a, " ")),
                               "'variable NAME index VALUE' or 'variable NAME equal NUMBER'");
  if (a[0].empty() || !std::ranges::all_of(a[0], is_name_character))
    command.place.refuse_value("variable's name", a[0], "a name of letters, digits and underscores");
  if (a[1] == "index") {
    values_.emplace(a[0], a[2]);
    return;
  }
  if (a.size() > 3 || !parse_real(a[2]))
    command.place.refuse_value("equal-style variable", fmt::format("{}", fmt::join(a.begin() + 2, a.end(), " ")),
                               "a number, since there are no formulas here,");
  values_[a[0]] = a[2];
}

std::string lammps_variables::value(const std::string& name, text_place place) const {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  std::string known;
  for (const auto& [other, text] : values_) known += (known.empty() ? "" : ", ") + other;
  place.refuse(fmt::format("variable '{}' is unknown: known are {}", name, known.empty() ? "none yet" : known));
}

std::string lammps_variables::substitute(const std::string& line, text_place place) const {
  std::string result;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '$') {
      result += line[i];
      continue;
    }
    const bool braces = i + 1 < line.size() && line[i + 1] == '{';
    const std::size_t end = braces ? line.find('}', i) : i + 1;
    if (end >= line.size() || (!braces && !is_name_character(line[end])))
      place.refuse(fmt::format("'{}' names no variable: $x or ${{name}} is expected", line.substr(i, 12)));
    result += value(braces ? line.substr(i + 2, end - i - 2) : line.substr(end, 1), place);
    i = end;
  }
  return result;
}

std::optional<lammps_command> lammps_script::next() {
  for (;;) {
    if (waiting_.empty() && !read_line()) return std::nullopt;
    if (waiting_.empty()) continue;
    lammps_command command = std::move(waiting_.front());
    waiting_.pop_front();
    if (!run_own(command)) return command;
  }
}

/// Reads a command, which may be on several lines; false at the end of the file.
bool lammps_script::read_line() {
  if (!lines_.next()) return false;
  const text_place place = lines_.place();
  std::string whole(lines_.line());
  while (const auto part = continued(whole)) {
    whole = *part;
    if (!lines_.next()) break;
    whole += lines_.line();
  }
  if (auto command = command_of(place, variables_.substitute(without_comment(whole), place)))
    waiting_.push_back(std::move(*command));
  return true;
}

bool lammps_script::run_own(const lammps_command& command) {
  if (command.name != "variable" && command.name != "if") return false;
  if (command.name == "variable")
    variables_.define(command);
  else
    branch(command);
  return true;
}

void lammps_script::branch(const lammps_command& command) {
  const std::vector<std::string>& a = command.arguments;
  const auto otherwise = std::ranges::find(a, "else");
  const bool known = a.size() >= 3 && a[1] == "then" && std::ranges::find(a, "elif") == a.end() &&
                     otherwise - a.begin() > 2 && (otherwise == a.end() || otherwise + 1 != a.end());
  if (!known) command.place.refuse("this if is unknown: 'if \"A > B\" then \"command\" else \"command\"' is expected");
  const bool holds = condition_holds(a[0], command.place);
  const auto begin = holds ? a.begin() + 2 : otherwise == a.end() ? otherwise : otherwise + 1;
  const auto end = holds ? otherwise : a.end();
  std::deque<lammps_command> chosen;
  for (const std::string& text : std::ranges::subrange(begin, end)) {
    if (auto one = command_of(command.place, text)) chosen.push_back(std::move(*one));
  }
  waiting_.insert(waiting_.begin(), chosen.begin(), chosen.end());
}

}  // namespace md
