#pragma once

#include "output/run_facts.h"
#include "run_setup.h"

namespace md {

/// With --verify: runs the system again by a loop in one box, in this thread, and compares the rows up to step 200,
/// beyond which trajectories part; prints what was found. False when they differ by more than 1e-9, with forces in
/// single precision up to step 100 by 1e-4.
bool verify(const run_setup& s, const run_facts& f);

}  // namespace md
