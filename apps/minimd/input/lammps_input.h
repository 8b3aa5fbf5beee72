#pragma once

#include <optional>
#include <string>

#include "problem.h"

namespace md {

/// What a LAMMPS input asks for: the problem, and `newton on` or `newton off` where it is there.
struct lammps_job {
  problem what;
  std::optional<bool> newton;
};

/// Reads the subset of LAMMPS's input language that describes a run of miniMD:
///
///     units lj|metal                       lattice fcc X            mass 1|* M
///     atom_style atomic                    region ID block 0 X 0 Y 0 Z   (whole numbers of lattice cells)
///     newton on|off                        create_box N ID          create_atoms 1 box
///     read_data FILE                       pair_style lj/cut RC     pair_coeff 1 1 EPS SIGMA [RC]   (or * *)
///     velocity all create T SEED ...       pair_style eam           pair_coeff 1 [1] FILE           (or * * FILE)
///     neighbor SKIN bin                    neigh_modify every N delay 0 check no
///     fix ID all nve     timestep DT       thermo N                 run N
///
/// with comments, `&`, variables and `if` (lammps_script.h). Defaults are LAMMPS's: a temperature of 0 without
/// `velocity`, thermo at the start and the end, time step 0.005 (lj) or 0.001 (metal), skin 0.3 or 2.0. X of `lattice`
/// is the reduced density (lj) or the lattice constant (metal). Velocities come from the places on the lattice here, so
/// that SEED, loop, dist, mom and rot are checked and not used. The cutoff and mass of EAM come from its file, which is
/// looked for in the current folder and in that of the input; `eam_file`, where not empty, is taken instead of it. The
/// name of the data file is left as written; next to `read_data`, `mass` and `velocity` are for a file without masses
/// or velocities (it is not read here). Throws config_error "FILE:LINE: ..." for what is unknown, wrong, missing or out
/// of order, and for a funcfl file that is not found or wrong.
lammps_job read_lammps_input(const std::string& path, const std::string& eam_file = "");

}  // namespace md
