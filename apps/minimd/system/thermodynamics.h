#pragma once

#include <cstdint>

#include "support/exact_sum.h"
#include "system/domain.h"
#include "system/units.h"
#include "thermo_row.h"

/// What follows from the sums over all atoms.
namespace md {

/// Sums into what is printed.
thermo_row row_of(const units& scale, std::int64_t step, const thermo_sums& sums);

/// The velocities of a lattice: no momentum, the wanted temperature. What to take off each, from the sums of all.
vector3 mean_velocity(const units& scale, const apps::exact_sum (&sums)[3]);
/// What to multiply each with, from the sum of m v^2 of all.
double velocity_factor(const units& scale, double temperature, double mvv);

}  // namespace md
