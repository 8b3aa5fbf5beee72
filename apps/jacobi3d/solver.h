#pragma once

#include "decomposition.h"
#include "options.h"
#include "result.h"

/// What every implementation of jacobi3d does, so that they are comparable.
///
///   for each repeat
///     set every block to the initial state, ghosts to the boundary value
///     warm_up iterations                          (not timed, not checked for convergence)
///     barrier; up to `iterations` iterations; barrier    (timed; stopping_rule.h says when they end early)
///   then, once, with the field of the last repeat
///     hash it (field_hash.h), verify it if asked (serial_reference.h), write the outputs (field_output.h)
///
/// An iteration: exchange the six faces of the current field, update (kernel.h), advance. Output files are created, and
/// the memory checked, before the first iteration: what can be refused is refused before it costs time.
namespace jacobi {

/// The MPI implementation (mpi_solver.h) and the chare one (chare_solver.h) are called with the options every rank
/// parsed and the untouched command line; they start and end their own communication and return the exit code:
/// 0, 1 (an error, or a failed verification), 2 (usage). They print header, summary and errors themselves, once.
using solver_function = int (*)(int argc, char** argv, const options& o);

}  // namespace jacobi
