#pragma once

#include <cstdint>
#include <vector>

#include "gpu/gpu_around.h"
#include "system/decomposition.h"
#include "system/model.h"

namespace md {

/// How many atoms a box has and the boxes around get of them when atoms are as dense everywhere as on average, and as
/// fast as at the start: what a run in virtual time reckons with, in which no kernel finds any. All boxes together have
/// all atoms, and a box gets as many leavers as it sends.
struct expected_atoms {
  expected_atoms(const model& m, const box_index& where, const gpu_targets& targets);

  std::uint32_t own = 0;
  /// As `gpu_count` has them: for each target the place where its atoms begin, and at the end their number.
  std::vector<std::uint32_t> leavers, ghosts;
};

/// Throws `usage_error` naming what has no meaning without atoms, or where they are not even: `verifies`, `dumps`.
void check_expected(const problem& p, bool has_initial, bool verifies, bool dumps);

}  // namespace md
