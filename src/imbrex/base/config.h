#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Settings in layers: the command line (`--imbrex-name value` or `--imbrex-name=value`) goes before the environment
/// (`IMBREX_NAME`), that before the default. A `-` in a name is a `_` in the environment.
namespace imbrex {

/// What a value must look like; a seed is any 64-bit number. A flag given alone is true; with `=` it takes on/off,
/// true/false, yes/no, 1/0.
enum class setting_kind { flag, integer, seed, text };

/// One setting that a program knows.
struct setting {
  std::string name;  ///< "spin-us", without `--imbrex-`
  setting_kind kind = setting_kind::text;
  std::string default_value = {};  ///< as one would write it; empty where the program chooses by itself
  std::int64_t min = 0;            ///< integers only
  std::int64_t max = INT64_MAX;
  std::vector<std::string> choices = {};  ///< texts only: what is allowed; empty: anything
  std::string help = {};                  ///< one phrase, lowercase, no full stop
};

/// Where a value came from.
enum class setting_source { default_value, environment, command_line };
/// "default", "environment" or "command line".
const char* to_string(setting_source s);

/// The values of a program's settings. Immutable once made.
class config {
 public:
  /// Takes what begins with `--imbrex-` out of `argv` (up to a `--`), and the rest from `environment` (a null-ended
  /// list of "NAME=value"; null: none). Throws `config_error` naming setting, value and what is allowed.
  config(std::vector<setting> known, int& argc, char** argv, const char* const* environment);

  /// The value; `T` is bool, int, std::int64_t, std::uint64_t or std::string. An empty default gives 0, false or "".
  template <class T>
  T get(std::string_view name) const;

  /// Whether the value is not the default, and where it came from.
  bool is_set(std::string_view name) const { return source(name) != setting_source::default_value; }
  setting_source source(std::string_view name) const;
  /// The value as written.
  const std::string& text(std::string_view name) const;

  const std::vector<setting>& known() const { return known_; }

  /// One line for each unknown `--imbrex-...` option and `IMBREX_...` variable, with the closest known name.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct value {
    std::string text;
    setting_source source = setting_source::default_value;
  };

  void read_environment(const char* const* environment);
  void read_command_line(int& argc, char** argv);
  const setting* find(std::string_view name) const;
  void assign(const setting& s, std::string_view text, setting_source from);
  const value& at(std::string_view name) const;
  bool assign_from_next(const setting& s, const char* next);
  void warn_unknown(std::string_view what, std::string_view spelling, std::string_view name, setting_source from);
  std::string closest(std::string_view name) const;

  std::vector<setting> known_;
  std::map<std::string, value, std::less<>> values_;
  std::vector<std::string> warnings_;
};

template <>
bool config::get<bool>(std::string_view name) const;
template <>
int config::get<int>(std::string_view name) const;
template <>
std::int64_t config::get<std::int64_t>(std::string_view name) const;
template <>
std::uint64_t config::get<std::uint64_t>(std::string_view name) const;
template <>
std::string config::get<std::string>(std::string_view name) const;

/// How many insertions, deletions, replacements and swaps of neighbours turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace imbrex
