#pragma once

#include <vector>

#include "kernels/gpu_exchange.h"
#include "system/decomposition.h"

namespace md {

/// The boxes around one on a GPU: none in directions in which there is only one box, whose images are its own matter.
struct gpu_around {
  /// Throws `usage_error` where a box that is cut from the whole is narrower than atoms act.
  gpu_around(const decomposition& boxes, const box_index& where);

  std::vector<box_index> boxes;  ///< each once, by number
  gpu_targets targets;           ///< box after box
  std::vector<int> first;        ///< the first target of each box, and their number

  /// The place of `who` among those around.
  int place_of(const box_index& who) const;
};

/// How a box is cut into bricks of about `gpu_brick_threads` atoms.
gpu_bricks bricks_of(const decomposition& boxes, const box_index& where, double density);

/// The bricks of a box, those first at whose atoms the boxes around have a part: whose forces take ghosts, and whose
/// atoms are ghosts there. The others can be computed while messages are on their way.
struct brick_order {
  explicit brick_order(const gpu_bricks& b);

  std::vector<std::uint32_t> bricks;
  std::uint32_t num_outer = 0;
};

}  // namespace md
