#pragma once

#include <cstdint>
#include <vector>

#include "problem.h"

namespace md {

/// A position, velocity or force; 32 bytes, so that a vector register takes one at a time.
struct alignas(32) vector4 {
  double x = 0, y = 0, z = 0, w = 0;
};

/// The atoms of one box: its own first, then ghosts, copies of those of other boxes (or of this one, shifted by the
/// period) that are within reach.
struct atom_arrays {
  std::vector<vector4> x;        ///< own, ghosts, and one atom far away, with which lists are filled up
  std::vector<vector4> v;        ///< own only
  std::vector<vector4> f;        ///< as x
  std::vector<std::int64_t> id;  ///< own, then ghosts
  std::int32_t num_own = 0;
  std::int32_t num_ghosts = 0;

  std::int32_t num_all() const { return num_own + num_ghosts; }
};

/// Where the atom that is none stands: beyond any cutoff of any other, and a square of which is finite.
inline constexpr vector4 far_away{1e100, 1e100, 1e100, 0};

}  // namespace md
