#pragma once

#include <string>

#include "problem.h"

namespace md {

/// Reads an input file of miniMD. Each line begins with its values; what follows them is a comment.
///
///     line  1, 2  comments
///           3     units: lj or metal                4  LAMMPS data file, or none
///           5     force: lj or eam                  6  epsilon and sigma of Lennard-Jones
///           7     unit cells in x, y and z          8  steps
///           9     time step                        10  initial temperature
///          11     density, atoms per volume        12  steps between builds of the neighbour lists, 0: never
///          13     cutoff and skin                  14  steps between rows of thermo, 0: start and end
///
/// All in the units of line 3. Names of files are left as written. Throws config_error "FILE:LINE: what, the value,
/// what is expected".
problem read_minimd_file(const std::string& path);

}  // namespace md
