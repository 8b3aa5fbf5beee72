#pragma once

#include <optional>
#include <string>

#include "problem.h"

namespace md {

/// What an input file asks for.
struct input_job {
  problem what;
  std::optional<bool> newton;  ///< of LAMMPS inputs that say it
};

/// Files to take instead of those that an input names; empty: those of the input.
struct input_files {
  std::string data, eam;
};

/// Reads an input of miniMD (its third line begins with lj or metal) or of LAMMPS (all others). The data file, and the
/// funcfl file where the force is EAM, are then paths of files that are there: names in the input are looked for in the
/// current folder first and then in that of the input. Those of `instead` are taken as they are. Throws config_error:
/// "FILE:LINE: ..." for what cannot be used, and, naming both places, for files that are missing.
input_job read_input_file(const std::string& path, const input_files& instead = {});

/// Looks for the funcfl file of `p` as above. Throws config_error.
std::string find_eam_file(const problem& p, const std::string& input);

}  // namespace md
