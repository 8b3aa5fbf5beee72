#pragma once

#include <cstdint>
#include <string>

namespace imbrex {

/// Whether and how often a job makes checkpoints by itself, and where it begins.
struct checkpoint_options {
  std::string folder;  ///< of checkpoints (docs/checkpoints.md); empty: none are made but by `runtime::checkpoint`
  std::int64_t every_ns = 0;         ///< at the first point after so long; 0: not by time
  std::uint32_t every_points = 0;    ///< at each so-manieth point; 0: not by number
  int keep = 2;                      ///< of the newest
  std::int64_t memory_every_ns = 0;  ///< the same of checkpoints that ranks keep in memory; 0 both: there are none
  std::uint32_t memory_every_points = 0;
  int memory_group = 8;   ///< ranks that keep each other's
  int memory_parity = 1;  ///< so many of a group may be lost at once
  int spare_ranks = 0;    ///< so many wait to take the places of those that are lost
  std::string restart;    ///< a checkpoint, or a folder of them, to begin with; empty: from the start

  /// Whether any are made at points.
  bool at_points() const { return !folder.empty() || in_memory(); }
  bool in_memory() const { return memory_every_ns > 0 || memory_every_points > 0; }
};

}  // namespace imbrex
