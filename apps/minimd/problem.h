#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// What is simulated: the physics and numerics of a run, whichever file or option said them.
namespace md {

using vector3 = std::array<double, 3>;

/// `lj`: reduced units. `metal`: Angstrom, ps, eV, K, bar and g/mol, as LAMMPS has them.
enum class unit_system { lj, metal };
/// Lennard-Jones 12-6, cut off without shift; the embedded atom method from a funcfl file.
enum class force_style { lj, eam };
/// Full: each pair stands in the lists of both its atoms. Half: in one of them.
enum class list_style { full, half };
/// How ghosts come. Direct: from all boxes around at once, one message each. Rounds: from the two beside in x, then,
/// with those, from the two in y, then in z, as the reference has it: six messages, which wait for each other.
enum class exchange_style { direct, rounds };

struct problem {
  unit_system units = unit_system::lj;
  force_style force = force_style::lj;
  double epsilon = 1, sigma = 1;                  ///< of Lennard-Jones
  std::array<std::int64_t, 3> cells{32, 32, 32};  ///< fcc unit cells, 4 atoms each; unused with a data file
  double density = 0.8442;                        ///< atoms per volume; gives the lattice constant, (4 / density)^(1/3)
  double imbalance = 1;                           ///< density of the lattice at the upper end in z against the lower
  double lattice_constant = 0;                    ///< when not 0, goes before `density` (LAMMPS, metal units)
  double temperature = 1.44;                      ///< initial; unused when a data file has velocities
  double mass = 1;                                ///< of every atom; EAM takes its file's
  std::int64_t steps = 100;
  double dt = 0.005;
  double cutoff = 2.5;
  double skin = 0.3;                    ///< lists hold pairs up to cutoff + skin
  std::int64_t reneighbour_every = 20;  ///< steps; 0: never
  std::int64_t thermo_every = 100;      ///< steps; 0: at the start and the end only
  std::string data_file;                ///< LAMMPS data file; empty: the lattice
  std::string eam_file = "Cu_u6.eam";   ///< funcfl

  bool single = false;  ///< forces of pairs in single precision (on GPUs)

  double neighbour_cutoff() const { return cutoff + skin; }
  bool operator==(const problem&) const = default;
};

/// A state read from a file. Positions as written there; ids are from 1.
struct initial_atoms {
  vector3 box_lo{}, box_hi{};
  std::vector<std::int64_t> ids;
  std::vector<vector3> positions;
  std::vector<vector3> velocities;  ///< of the same atoms in the same order; empty: the file has none
  double mass = 0;                  ///< 0: the file has none
};

/// A funcfl file: F(rho) at i * drho, the effective charge Z(r) (phi = 27.2 * 0.529 Z^2 / r) and rho(r) at i * dr.
struct funcfl {
  double mass = 0;
  double drho = 0, dr = 0, cutoff = 0;
  std::vector<double> embedding, charge, density;
};

}  // namespace md
