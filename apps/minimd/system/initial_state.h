#pragma once

#include "system/domain.h"

namespace md {

/// Puts into `box` its atoms of the lattice, or of `initial` when that is not null (brought into the period first).
void add_initial_atoms(domain& box, const model& m, const initial_atoms* initial);

/// Whether velocities are those of the lattice's generator, to be shifted and scaled.
bool needs_velocities(const initial_atoms* initial);

/// Extents and number of atoms of a problem, whose data file, if it has one, is `initial`.
vector3 lengths_of(const problem& p, const initial_atoms* initial);
std::int64_t num_atoms_of(const problem& p, const initial_atoms* initial);
/// Atoms per volume in the fullest of the cubes, not much larger than `edge`, into which the period is cut.
double densest_of(const initial_atoms& initial, const vector3& lengths, double edge);

}  // namespace md
