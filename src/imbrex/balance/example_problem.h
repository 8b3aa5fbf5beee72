#pragma once

#include <array>
#include <cstdint>

#include "imbrex/balance/balance_problem.h"

namespace imbrex {

/// A made-up problem with the traits of real ones: a grid of elements, each with as much to do as its neighbours but in
/// a hot spot that wanders, and halos between neighbours. Elements are where a program puts them at first: in boxes,
/// one for each PE.
struct example_options {
  std::array<int, 3> extents{16, 16, 16};  ///< elements, x fastest
  int num_pes = 16;
  int pes_per_rank = 4;
  int ranks_per_node = 2;
  int gpus_per_node = 0;          ///< dealt to the node's PEs in blocks
  double element_seconds = 1e-3;  ///< of an element far from the hot spot
  double hot = 8;                 ///< in its middle elements have so much more to do, as a multiple
  double radius = 0.2;            ///< where they have half of that, as a share of the longest side
  double turn = 0;                ///< where it is on its way round: 0 to 1
  double gpu_share = 0;           ///< of an element's seconds, for the GPU; above 0 only with GPUs
};

/// The same for the same options, on every machine. Throws `usage_error` for what makes no problem.
balance_problem example_problem(const example_options& o);

}  // namespace imbrex
