#pragma once

#include <imbrex/imbrex.h>

#include <string>

#include "kernels/gpu_tiles.h"
#include "options.h"
#include "support/gpu_streams.h"

namespace jacobi {

using apps::gpu_streams;

/// The options about GPUs with nothing left open.
struct gpu_strategy {
  stream_design streams = stream_design::chare;
  halo_path halos = halo_path::device;
  fusion_strategy fusion = fusion_strategy::d;
  bool graph = true;  ///< with fusion D all blocks' iterations are repeated rounds, else each block has its own graphs
  int steps = 1;      ///< iterations between two exchanges; with more than one there is no fusion and no graph
  bool resident = false;  ///< one kernel does all: no exchange, no fusion and no graph

  /// What was asked for, and for the rest what is fastest. Throws usage_error for what cannot be done by several
  /// processes, or with checkpoints.
  static gpu_strategy of(const options& o, const imbrex::runtime& rt);
  std::string text() const;
};

/// How dear cells of x faces are, compared with others, when blocks for GPUs are cut: each takes a memory transaction.
inline constexpr std::int64_t gpu_x_face_weight = 8;

}  // namespace jacobi
