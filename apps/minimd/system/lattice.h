#pragma once

#include <cstdint>
#include <functional>

#include "problem.h"

namespace md {

/// An atom on its way to another box, or as it was made.
struct atom_record {
  vector3 position{};
  vector3 velocity{};
  std::int64_t id = 0;  ///< from 1
};

/// The face-centred lattice: atoms where i + j + k is even, `half` apart, with velocities that depend on the atom's
/// place in the whole lattice alone (reference: setup.cpp, create_atoms).
class lattice {
 public:
  explicit lattice(const problem& p);

  vector3 lengths() const;
  std::int64_t num_atoms() const { return 4 * cells_[0] * cells_[1] * cells_[2]; }
  /// Calls `take` for each atom with lo <= position < hi, z slowest. Velocities are raw: their sum is not zero, and the
  /// temperature any.
  void for_each_within(const vector3& lo, const vector3& hi, const std::function<void(const atom_record&)>& take) const;

 private:
  atom_record at(std::int64_t i, std::int64_t j, std::int64_t k) const;

  std::array<std::int64_t, 3> cells_;
  double constant_;
};

/// Of the lattice, or that given by LAMMPS.
double lattice_constant(const problem& p);

}  // namespace md
