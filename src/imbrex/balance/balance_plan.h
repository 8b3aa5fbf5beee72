#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "imbrex/balance/balance_problem.h"

/// Who is to move where, and what that would bring.
///
/// **The predicted time of a step** is the longest of the times of all PEs and of all GPUs:
///
///     time of a PE  = background + sum of its elements' host seconds / its rate
///     time of a GPU = background + sum of the gpu seconds of all elements on the PEs that share it / its rate
///
/// Host and GPU are not added up: with several elements on a PE one computes on the host while the GPU works for
/// another. What messages cost is not in it; their bytes are counted apart.
namespace imbrex {

/// One element that is to go to another PE.
struct balance_move {
  int element = 0;
  int to = 0;  ///< the PE
  bool operator==(const balance_move&) const = default;
};

/// Each element at most once, by number; none to where it is.
struct balance_plan {
  std::vector<balance_move> moves;
  bool operator==(const balance_plan&) const = default;
};

/// The times of all PEs, or of all GPUs.
struct load_summary {
  double max = 0;
  /// By rate: how long each would take if the work could be cut at will.
  double mean = 0;
  int busiest = -1;  ///< whose time is `max`; -1: there are none
  /// 1 is even; 0 where there is nothing to do.
  double imbalance() const { return mean > 0 ? max / mean : 0; }
  /// The share of the step that they work, 1 at best; 1 where there is nothing to do.
  double efficiency() const { return max > 0 ? mean / max : 1; }
};

/// A GPU whose elements need more memory than it has.
struct memory_excess {
  int gpu = 0;
  std::uint64_t bytes = 0;
  std::uint64_t limit = 0;
  bool operator==(const memory_excess&) const = default;
};

/// What is predicted of a placement.
struct judgement {
  std::vector<double> pe_times;
  std::vector<double> gpu_times;  ///< of GPUs that no PE uses: their background
  load_summary pes;
  load_summary gpus;
  double time = 0;        ///< of a step
  double efficiency = 1;  ///< of PEs or GPUs, whichever have more to do: the larger mean against `time`
  /// Per step. Between ranks is a part of between PEs, and between nodes of between ranks.
  double bytes_between_pes = 0;
  double bytes_between_ranks = 0;
  double bytes_between_nodes = 0;
  std::size_t num_moves = 0;
  std::uint64_t moved_bytes = 0;
  std::vector<memory_excess> excesses;  ///< by GPU; none: all fits
};

/// Throws `usage_error` for a plan that cannot be carried out: an element or PE that there is not, one named twice,
/// pinned, there already, or sent to a PE without the GPU that it needs.
void check_plan(const balance_problem& problem, const balance_plan& plan);

/// The PE of each element afterwards.
std::vector<int> placement_after(const balance_problem& problem, const balance_plan& plan);
/// The moves that lead from where the elements are to `placement`.
balance_plan plan_to(const balance_problem& problem, std::span<const int> placement);

/// Both have been checked. As long as elements and pairs are many.
judgement judge(const balance_problem& problem, const balance_plan& plan);
/// Of the same, the time of a step alone, for a PE of each element: in a tenth of the time.
double predicted_time(const balance_problem& problem, std::span<const int> placement);
/// GPUs that would hold more than they can.
std::vector<memory_excess> memory_excesses(const balance_problem& problem, std::span<const int> placement);
/// Bytes between PEs per step.
double bytes_between_pes(const balance_problem& problem, std::span<const int> placement);

}  // namespace imbrex
