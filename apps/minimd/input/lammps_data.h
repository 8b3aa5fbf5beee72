#pragma once

#include <string>

#include "problem.h"

namespace md {

/// Reads a data file of LAMMPS (atom style atomic). Line 1 is a comment; the head has `N atoms`, `T atom types` and the
/// box (`xlo xhi`, ...; a tilt must be 0); the sections Masses, Atoms (`id type x y z [ix iy iz]`) and Velocities
/// (`id vx vy vz`) come in any order. Atoms stay in the order of the file, whose ids must be 1 to N, each once. Types
/// are read and forgotten: all atoms are alike, so all masses must be the same. Image flags are checked and not used.
/// Positions may be outside the box. Throws config_error "FILE:LINE: what, the value, what is expected".
initial_atoms read_lammps_data(const std::string& path);

}  // namespace md
