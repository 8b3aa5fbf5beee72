#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "input/text_file.h"

namespace md {

/// A command of a LAMMPS input with its arguments, variables replaced and quotes removed. Lives no longer than its
/// file.
struct lammps_command {
  text_place place;  ///< where the command begins
  std::string name;
  std::vector<std::string> arguments;
};

/// The variables of a LAMMPS input.
class lammps_variables {
 public:
  /// The command `variable NAME index V...` (the first value is taken; nothing happens to a variable that is there) or
  /// `variable NAME equal N` with a number. Throws config_error for other styles.
  void define(const lammps_command& command);
  /// `line` with values for `$x` and `${name}`, also inside quotes. Throws config_error for unknown variables.
  std::string substitute(const std::string& line, text_place place) const;

 private:
  std::string value(const std::string& name, text_place place) const;
  std::map<std::string, std::string> values_;
};

/// Gives the commands of a LAMMPS input one after the other: joins lines that end with `&`, drops comments, and does
/// `variable` and `if` itself. Of `if` there is `if "A op B" then "command"... [else "command"...]`, where A and B are
/// numbers after substitution and op is <, >, <=, >=, == or !=. Lives no longer than the file.
class lammps_script {
 public:
  explicit lammps_script(const text_file& file) : lines_(file) {}

  /// Nothing at the end. Throws config_error for what cannot be understood.
  std::optional<lammps_command> next();
  /// The line read last.
  text_place place() const { return lines_.place(); }

 private:
  bool read_line();
  bool run_own(const lammps_command& command);
  void branch(const lammps_command& command);

  line_reader lines_;
  lammps_variables variables_;
  std::deque<lammps_command> waiting_;
};

}  // namespace md
