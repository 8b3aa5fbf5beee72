#pragma once

#include <cstdint>

#include "support/instruction_set.h"
#include "system/atoms.h"
#include "system/neighbour_lists.h"

namespace md {

struct lennard_jones {
  double cutoff_square = 0;
  double epsilon = 1;
  double sigma6 = 1;

  static lennard_jones of(const problem& p) {
    const double s3 = p.sigma * p.sigma * p.sigma;
    return {p.cutoff * p.cutoff, p.epsilon, s3 * s3};
  }
};

/// What a computation of forces reads and writes. Owns nothing.
struct force_work {
  const vector4* x = nullptr;  ///< own atoms, ghosts, the one far away
  vector4* f = nullptr;        ///< full lists: own atoms' are overwritten; half lists: added to, ghosts' too
  const neighbour_lists* lists = nullptr;
  std::int32_t num_own = 0;
  std::int32_t num_whole = 0;  ///< half lists: pairs with atoms before this one count whole, others half
  double* energy = nullptr;    ///< of each own atom, its pairs' (half of them with full lists); null: not wanted
  double* virial = nullptr;    ///< likewise, the sums of r f; null exactly when `energy` is
};

using apps::best_instruction_set;
using apps::instruction_set;
using apps::name;

using lennard_jones_function = void (*)(const lennard_jones&, const force_work&);
/// Baseline sums in the order of the lists; the others in lanes.
lennard_jones_function lennard_jones_forces(list_style style, instruction_set isa);

namespace detail {
struct lennard_jones_variants {
  lennard_jones_function full = nullptr, half = nullptr;
};
lennard_jones_variants lennard_jones_baseline();
lennard_jones_variants lennard_jones_avx2();
lennard_jones_variants lennard_jones_avx512();
}  // namespace detail

}  // namespace md
