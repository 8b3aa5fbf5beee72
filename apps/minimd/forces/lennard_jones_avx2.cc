#include "forces/lennard_jones.h"

#if defined(__x86_64__)

#include "forces/lanes_avx2.inc.h"
// After the operations.
#include "forces/lennard_jones_lanes.inc.h"

namespace md::detail {
lennard_jones_variants lennard_jones_avx2() { return {&either<false>, &either<true>}; }
}  // namespace md::detail

#else

namespace md::detail {
lennard_jones_variants lennard_jones_avx2() { return lennard_jones_baseline(); }
}  // namespace md::detail

#endif
