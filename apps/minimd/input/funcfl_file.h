#pragma once

#include <string>

#include "problem.h"

namespace md {

/// Reads a potential of the embedded atom method in the format funcfl of DYNAMO (one element): line 1 is a comment;
/// line 2 atomic number, mass in g/mol, lattice constant and lattice (only the mass is used); line 3 nrho, drho, nr, dr
/// and the cutoff, lengths in Angstrom; then nrho values of F in eV, nr of Z and nr of the density, on lines of any
/// length. Throws config_error "FILE:LINE: what, the value, what is expected": for fewer than 5 points, numbers that
/// are not finite, mass, steps or cutoff that are not positive, a cutoff that the table does not reach, and values that
/// are missing or too many.
funcfl read_funcfl(const std::string& path);

}  // namespace md
