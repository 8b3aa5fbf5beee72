#include "system/thermodynamics.h"

#include <cmath>

namespace md {

thermo_row row_of(const units& scale, std::int64_t step, const thermo_sums& sums) {
  thermo_row r;
  r.step = step;
  r.temperature = scale.temperature(sums.kinetic.to_double());
  r.energy = scale.energy_per_atom(sums.energy.to_double());
  r.pressure = scale.pressure(r.temperature, sums.virial.to_double());
  return r;
}

vector3 mean_velocity(const units& scale, const apps::exact_sum (&sums)[3]) {
  const auto n = static_cast<double>(scale.num_atoms);
  return {sums[0].to_double() / n, sums[1].to_double() / n, sums[2].to_double() / n};
}

double velocity_factor(const units& scale, double temperature, double mvv) {
  return std::sqrt(temperature / scale.temperature(mvv));
}

}  // namespace md
