#pragma once

#include <cstdint>
#include <string>

namespace imbrex {

/// Whether and how often a job makes checkpoints by itself, and where it begins.
struct checkpoint_options {
  std::string folder;  ///< of checkpoints (docs/checkpoints.md); empty: none are made but by `runtime::checkpoint`
  std::int64_t every_ns = 0;       ///< at the first point after so long; 0: not by time
  std::uint32_t every_points = 0;  ///< at each so-manieth point; 0: not by number
  int keep = 2;                    ///< of the newest
  std::string restart;             ///< a checkpoint, or a folder of them, to begin with; empty: from the start
};

}  // namespace imbrex
