#pragma once

#include <map>
#include <string>
#include <vector>

#include "input/lammps_script.h"

namespace md {

/// How a command of a LAMMPS input is written and where it may stand.
struct lammps_rule {
  std::string usage;
  std::size_t least, most;  ///< number of arguments
  bool once = false;
  std::vector<std::string> after{};   ///< what must have come before
  std::vector<std::string> before{};  ///< what must not have come yet
};

/// Knows which commands came, and refuses those that are unknown, out of order, again or of a wrong length. Besides
/// commands there are "a box" (create_box or read_data) and "atoms" (create_atoms or read_data).
class lammps_order {
 public:
  /// Notes the command. Throws config_error.
  void enter(const lammps_command& command);
  bool came(const std::string& what) const { return came_.contains(what); }
  /// Where it came; precondition: it came.
  text_place place(const std::string& what) const { return came_.at(what); }
  /// Throws config_error, at the place of `command`, unless `what` came.
  void require(const lammps_command& command, const std::string& what) const;

 private:
  void check_order(const lammps_command& command, const lammps_rule& rule) const;
  std::map<std::string, text_place> came_;
};

}  // namespace md
