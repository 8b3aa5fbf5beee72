#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "problem.h"

namespace md {

/// An atom on its way to another box, or as it was made.
struct atom_record {
  vector3 position{};
  vector3 velocity{};
  std::int64_t id = 0;  ///< from 1
};

/// The face-centred lattice: atoms where i + j + k is even, `half` apart, with velocities that depend on the atom's
/// place in the whole lattice alone (reference: setup.cpp, create_atoms). With an imbalance sites are empty by chance,
/// the more of them the lower they are: density falls from the upper end in z to the lower one as in an atmosphere.
class lattice {
 public:
  explicit lattice(const problem& p);

  vector3 lengths() const;
  /// With an imbalance all sites are looked at: some nanoseconds each.
  std::int64_t num_atoms() const;
  /// Atoms per volume where all sites are taken.
  double full_density() const { return 4 / (constant_ * constant_ * constant_); }
  /// Calls `take` for each atom with lo <= position < hi, z slowest. Velocities are raw: their sum is not zero, and the
  /// temperature any.
  void for_each_within(const vector3& lo, const vector3& hi, const std::function<void(const atom_record&)>& take) const;

 private:
  atom_record at(std::int64_t i, std::int64_t j, std::int64_t k) const;
  std::int64_t id_of(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return (k * 2 * cells_[1] + j) * 2 * cells_[0] + i + 1;
  }
  bool is_taken(std::int64_t k, std::int64_t id) const;

  std::array<std::int64_t, 3> cells_;
  double constant_;
  std::vector<double> share_;  ///< of sites that are taken, of each layer in z; empty: all
};

/// Of the lattice, or that given by LAMMPS.
double lattice_constant(const problem& p);

}  // namespace md
