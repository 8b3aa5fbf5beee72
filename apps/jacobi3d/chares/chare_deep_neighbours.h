#pragma once

#include <imbrex/imbrex.h>

#include <vector>

#include "decomposition.h"
#include "field/deep_field.h"
#include "options.h"

namespace jacobi {

/// Whom a block exchanges deep halos with (`--steps`): all around it, beyond edges and corners, too.
using deep_neighbour = imbrex::neighbour<imbrex::index3d>;

inline std::vector<deep_neighbour> deep_neighbours(imbrex::index3d at, imbrex::index3d extent, const options& o) {
  const bool p = o.boundary.periodic;
  return imbrex::neighbours(at, extent, {.diagonal = true, .periodic = {p, p, p}});
}

/// The sides where there is one.
open_sides sides_of(const std::vector<deep_neighbour>& around);

/// Throws usage_error when blocks are too small for `--steps`.
void check_steps_fit(const decomposition& blocks, const options& o);

}  // namespace jacobi
