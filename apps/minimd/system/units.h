#pragma once

#include <cstdint>

#include "problem.h"

namespace md {

/// Boltzmann's constant in the problem's units: 1, or in eV/K.
inline double boltzmann(unit_system u) { return u == unit_system::lj ? 1 : 8.617343e-05; }

/// What turns sums over atoms into temperature, energy and pressure (reference: thermo.cpp; constants of LAMMPS 2007).
struct units {
  units(const problem& p, std::int64_t atoms, const vector3& lengths)
      : num_atoms(atoms), volume(lengths[0] * lengths[1] * lengths[2]) {
    if (p.units == unit_system::metal) {
      mvv_to_energy = 1.036427e-04;
      pressure_of_energy_density = 1.602176e+06;
    }
    freedom = (3.0 * static_cast<double>(num_atoms) - 3.0) * boltzmann(p.units);
  }

  /// `mvv`: the sum of m v^2 over all atoms.
  double temperature(double mvv) const { return mvv * mvv_to_energy / freedom; }
  /// `virial`: the sum of r f over all pairs.
  double pressure(double t, double virial) const {
    return (t * freedom + virial) * pressure_of_energy_density / 3 / volume;
  }
  double energy_per_atom(double energy) const { return energy / static_cast<double>(num_atoms); }
  /// What a force times half a step is to be multiplied by to change the velocity of mass `m`.
  double half_kick(double dt, double m) const { return 0.5 * dt / mvv_to_energy / m; }

  std::int64_t num_atoms;
  double volume;
  double mvv_to_energy = 1;
  double pressure_of_energy_density = 1;
  double freedom = 0;  ///< degrees of freedom, 3 N - 3, times Boltzmann's constant
};

}  // namespace md
