#pragma once

#include <cstdint>

namespace md {

/// The state of the whole system after a step. Lennard-Jones units, or K, eV for each atom and bar.
struct thermo_row {
  std::int64_t step = 0;
  double temperature = 0;
  double energy = 0;  ///< potential energy for each atom
  double pressure = 0;
  double seconds = 0;  ///< since the first step began
};

}  // namespace md
