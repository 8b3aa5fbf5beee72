#pragma once

#include <vector>

#include "decomposition.h"
#include "field/block_field.h"
#include "options.h"

/// The state before the first iteration. Every cell depends on its place in the grid alone, so that any block can be
/// set by whoever owns it:
///
///   hot-face   1 in the plane z = 0, else 0
///   random     (mix(seed XOR mix(i)) >> 11) * 2^-53, in [0,1), with i = (z*ny + y)*nx + x and mix the splitmix64 step
///   sine       sx*sy*sz, a product that every update multiplies by one number: with a fixed boundary (of 0) sx is
///              sin(pi*(x+1)/(nx+1)); in a periodic domain sin(2*pi*x/nx); sy and sz alike
///   file       the cells of a .npy file; each block reads its own
namespace jacobi {

/// Sets the current field of a block and packs its outgoing faces. Throws usage_error if the file cannot be used.
void set_initial_state(block_field& field, extents grid, const box& cells, const initial_condition& initial,
                       const boundary_condition& boundary);

/// The same into rows that are `pitch` doubles apart.
void write_initial_state(double* rows, std::int64_t pitch, extents grid, const box& cells,
                         const initial_condition& initial, const boundary_condition& boundary);

/// The factors of `sine` in a direction of n cells.
std::vector<double> sine_table(std::int64_t n, bool periodic);

}  // namespace jacobi
