#include "imbrex/base/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

constexpr std::string_view option_prefix = "--imbrex-";
constexpr std::string_view variable_prefix = "IMBREX_";

std::string variable_name(std::string_view name) {
  std::string variable(variable_prefix);
  for (char c : name) variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

std::string option_name(std::string_view name) { return std::string(option_prefix) += name; }

std::string setting_name(std::string_view variable) {
  std::string name;
  for (char c : variable.substr(variable_prefix.size())) {
    name += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string spelled(std::string_view name, setting_source from) {
  return from == setting_source::environment ? variable_name(name) : option_name(name);
}

std::optional<bool> parse_flag(std::string_view text) {
  for (std::string_view yes : {"on", "true", "yes", "1"}) {
    if (text == yes) return true;
  }
  for (std::string_view no : {"off", "false", "no", "0"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

template <class T>
std::optional<T> parse_integer(std::string_view text) {
  T number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_allowed(const setting& s, std::string_view text) {
  switch (s.kind) {
    case setting_kind::flag: return parse_flag(text).has_value();
    case setting_kind::integer: {
      const std::optional<std::int64_t> number = parse_integer<std::int64_t>(text);
      return number && *number >= s.min && *number <= s.max;
    }
    case setting_kind::seed: return parse_integer<std::uint64_t>(text).has_value();
    case setting_kind::text:
      return s.choices.empty() || std::find(s.choices.begin(), s.choices.end(), text) != s.choices.end();
  }
  return false;
}

std::string what_is_allowed(const setting& s) {
  switch (s.kind) {
    case setting_kind::flag: return "on or off";
    case setting_kind::integer:
      if (s.max == std::numeric_limits<std::int64_t>::max()) {
        return fmt::format("a whole number that is at least {}", s.min);
      }
      return fmt::format("a whole number from {} to {}", s.min, s.max);
    case setting_kind::seed: return "a whole number from 0 to 18446744073709551615";
    case setting_kind::text: return s.choices.empty() ? "a text" : fmt::format("{}", fmt::join(s.choices, ", "));
  }
  return {};
}

// In lower case, with hyphens; what a word that is no option of imbrex by its letters was meant to be.
std::string as_if_typed_well(std::string_view word) {
  std::string name;
  for (const char c : word) name += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

// The name of the setting in an option such as -imbrex-pes, --imbrex_pes or --Imbrex-pes; empty: it is none of these.
std::string name_behind_misspelt_prefix(std::string_view argument) {
  if (!argument.starts_with('-')) return {};
  const std::string typed =
      as_if_typed_well(argument.substr(std::min(argument.find_first_not_of('-'), argument.size())));
  const std::string_view prefix = option_prefix.substr(2);
  return typed.starts_with(prefix) ? typed.substr(prefix.size()) : "";
}

// libimbrex_sessions.so has variables of its own and warns of those that it does not know.
bool is_of_sessions(std::string_view variable) {
  constexpr std::string_view own = "IMBREX_SESSIONS";
  return variable == own || (variable.starts_with(own) && variable[own.size()] == '_');
}

}  // namespace

const char* to_string(setting_source s) {
  switch (s) {
    case setting_source::default_value: return "default";
    case setting_source::environment: return "environment";
    case setting_source::command_line: return "command line";
  }
  return "default";
}

config::config(std::vector<setting> known, int& argc, char** argv, const char* const* environment)
    : known_(std::move(known)) {
  for (const setting& s : known_) values_[s.name].text = s.default_value;
  if (environment != nullptr) read_environment(environment);
  read_command_line(argc, argv);
}

void config::read_environment(const char* const* environment) {
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view variable = entry.substr(0, equals);
    if (!entry.starts_with(variable_prefix)) {
      const std::string typed = as_if_typed_well(variable), prefix = as_if_typed_well(variable_prefix);
      if (typed.starts_with(prefix))
        warn_unknown("environment variable", variable, typed.substr(prefix.size()), setting_source::environment);
      continue;
    }
    const std::string_view text = entry.substr(std::min(equals + 1, entry.size()));
    if (is_of_sessions(variable)) continue;
    const std::string name = setting_name(variable);
    const setting* s = find(name);
    if (s == nullptr) {
      warn_unknown("environment variable", variable, name, setting_source::environment);
    } else if (!text.empty()) {  // set to nothing means not set
      assign(*s, text, setting_source::environment);
    }
  }
}

void config::read_command_line(int& argc, char** argv) {
  int kept = std::min(argc, 1);
  int i = kept;
  for (; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(option_prefix)) {
      const std::string_view option = argument.substr(0, argument.find('='));
      if (const std::string meant = name_behind_misspelt_prefix(option); !meant.empty())
        warn_unknown("option", option, meant, setting_source::command_line);
      argv[kept++] = argv[i];
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string_view option = argument.substr(0, equals);
    const std::string_view name = option.substr(option_prefix.size());
    const setting* s = find(name);
    if (s == nullptr) {
      warn_unknown("option", option, name, setting_source::command_line);
    } else if (equals != std::string_view::npos) {
      assign(*s, argument.substr(equals + 1), setting_source::command_line);
    } else {
      const char* next = i + 1 < argc ? argv[i + 1] : nullptr;
      if (assign_from_next(*s, next)) ++i;
    }
  }
  while (i < argc) argv[kept++] = argv[i++];
  if (kept < argc) argv[kept] = nullptr;
  argc = kept;
}

// Whether `next` is the value of the option `s`, which stands alone before it.
bool config::assign_from_next(const setting& s, const char* next) {
  const std::string_view text = next == nullptr ? "" : next;
  if (s.kind == setting_kind::flag) {
    const bool is_value = text.size() > 1 && parse_flag(text);  // a lone 0 or 1 is somebody else's argument
    assign(s, is_value ? text : "on", setting_source::command_line);
    return is_value;
  }
  if (next == nullptr || text.starts_with("--")) {
    throw config_error(fmt::format("the option {} has no value: give {}", option_name(s.name), what_is_allowed(s)));
  }
  assign(s, text, setting_source::command_line);
  return true;
}

void config::assign(const setting& s, std::string_view text, setting_source from) {
  if (!is_allowed(s, text)) {
    throw config_error(fmt::format("{} has the value '{}', which cannot be used: give {}", spelled(s.name, from), text,
                                   what_is_allowed(s)));
  }
  values_[s.name] = value{std::string(text), from};
}

void config::warn_unknown(std::string_view what, std::string_view spelling, std::string_view name,
                          setting_source from) {
  const std::string near = closest(name);
  const std::string advice =
      near.empty() ? "--imbrex-help lists the known ones" : fmt::format("did you mean {}?", spelled(near, from));
  std::string line = fmt::format("the {} {} is unknown and ignored: {}", what, spelling, advice);
  if (std::find(warnings_.begin(), warnings_.end(), line) == warnings_.end()) warnings_.push_back(std::move(line));
}

const setting* config::find(std::string_view name) const {
  const auto at = std::find_if(known_.begin(), known_.end(), [name](const setting& s) { return s.name == name; });
  return at == known_.end() ? nullptr : &*at;
}

const config::value& config::at(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw usage_error(fmt::format("there is no setting '{}'", name));
  return found->second;
}

setting_source config::source(std::string_view name) const { return at(name).source; }
const std::string& config::text(std::string_view name) const { return at(name).text; }

std::string config::closest(std::string_view name) const {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const setting& s : known_) {
    const std::size_t distance = edit_distance(name, s.name);
    if (distance < best_distance) {
      best_distance = distance;
      best = s.name;
    }
  }
  return best;
}

template <>
bool config::get<bool>(std::string_view name) const {
  return parse_flag(text(name)).value_or(false);
}
template <>
std::string config::get<std::string>(std::string_view name) const {
  return text(name);
}
template <>
std::int64_t config::get<std::int64_t>(std::string_view name) const {
  return parse_integer<std::int64_t>(text(name)).value_or(0);
}
template <>
std::uint64_t config::get<std::uint64_t>(std::string_view name) const {
  return parse_integer<std::uint64_t>(text(name)).value_or(0);
}
template <>
int config::get<int>(std::string_view name) const {
  const std::int64_t number = get<std::int64_t>(name);
  if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) {
    throw config_error(fmt::format("{} has the value {}, which is too large: give less than 2^31", name, number));
  }
  return static_cast<int>(number);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace imbrex
