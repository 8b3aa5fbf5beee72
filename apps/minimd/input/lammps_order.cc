#include "input/lammps_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace md {
namespace {

/// `units` decides what all others mean.
const std::map<std::string, lammps_rule>& rules() {
  static const std::map<std::string, lammps_rule> all{
      {"atom_style", {"atom_style atomic", 1, 1, true, {}, {"a box"}}},
      {"create_atoms", {"create_atoms 1 box", 2, 2, true, {"create_box"}}},
      {"create_box", {"create_box N REGION", 2, 2, true, {"region"}, {"read_data"}}},
      {"fix", {"fix ID all nve", 3, 3, true, {"a box"}}},
      {"lattice", {"lattice fcc X", 2, 2, true}},
      {"mass", {"mass 1 M", 2, 2, true, {"a box"}}},
      {"neigh_modify", {"neigh_modify every N delay 0 check no", 2, 100}},
      {"neighbor", {"neighbor SKIN bin", 2, 2}},
      {"newton", {"newton on, or off", 1, 1, false, {}, {"a box"}}},
      {"pair_coeff",
       {"pair_coeff 1 1 EPSILON SIGMA [CUTOFF], or pair_coeff 1 1 FILE", 2, 5, true, {"a box", "pair_style"}}},
      {"pair_style", {"pair_style lj/cut CUTOFF, or pair_style eam", 1, 2, true}},
      {"read_data", {"read_data FILE", 1, 1, true, {}, {"create_box"}}},
      {"region", {"region ID block 0 X 0 Y 0 Z", 8, 8, true, {"lattice"}}},
      {"run", {"run N", 1, 1, true, {"atoms", "pair_style", "pair_coeff", "fix", "neigh_modify"}}},
      {"thermo", {"thermo N", 1, 1}},
      {"timestep", {"timestep DT", 1, 1}},
      {"units",
       {"units lj, or units metal", 1, 1, true, {}, {"lattice", "a box", "pair_style", "neighbor", "timestep"}}},
      {"velocity", {"velocity all create T SEED", 4, 100, true, {"atoms"}}},
  };
  return all;
}

/// What to write for something that is missing.
std::string usage_of(const std::string& what) {
  if (what == "a box") return "create_box or read_data";
  if (what == "atoms") return "create_atoms or read_data";
  return "'" + rules().at(what).usage + "'";
}

const lammps_rule& rule_of(const lammps_command& command) {
  const auto found = rules().find(command.name);
  if (found != rules().end()) return found->second;
  std::string known;
  for (const auto& [name, rule] : rules()) known += name + ", ";
  command.place.refuse(fmt::format("command '{}' is unknown: known are {}variable and if", command.name, known));
}

}  // namespace

void lammps_order::enter(const lammps_command& command) {
  const lammps_rule& rule = rule_of(command);
  const std::size_t given = command.arguments.size();
  if (given < rule.least || given > rule.most)
    command.place.refuse(fmt::format("'{} {}' cannot be used: '{}' is expected", command.name,
                                     fmt::join(command.arguments, " "), rule.usage));
  check_order(command, rule);
  came_.emplace(command.name, command.place);
  const bool data = command.name == "read_data";
  if (data || command.name == "create_box") came_.emplace("a box", command.place);
  if (data || command.name == "create_atoms") came_.emplace("atoms", command.place);
}

void lammps_order::check_order(const lammps_command& command, const lammps_rule& rule) const {
  if (rule.once && came(command.name))
    command.place.refuse(
        fmt::format("'{}' was already there on line {}: it is expected once", command.name, place(command.name).line));
  if (came("run"))
    command.place.refuse(
        fmt::format("'{}' comes after run: it is expected before, where it has an effect", command.name));
  for (const std::string& what : rule.after) require(command, what);
  for (const std::string& what : rule.before) {
    if (came(what))
      command.place.refuse(fmt::format("'{}' comes after {} on line {}: it is expected before, or not at all",
                                       command.name, what, place(what).line));
  }
}

void lammps_order::require(const lammps_command& command, const std::string& what) const {
  if (!came(what))
    command.place.refuse(fmt::format("'{}' needs {}: {} is expected before it", command.name, what, usage_of(what)));
}

}  // namespace md
