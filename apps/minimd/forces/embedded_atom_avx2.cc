#include "forces/embedded_atom.h"

#if defined(__x86_64__)

#include "forces/lanes_avx2.inc.h"
// After the operations.
#include "forces/embedded_atom_lanes.inc.h"

namespace md::detail {
embedded_variants embedded_avx2() {
  return {{&sum_densities<false>, &forces<false>}, {&sum_densities<true>, &forces<true>}};
}
}  // namespace md::detail

#else

namespace md::detail {
embedded_variants embedded_avx2() { return embedded_baseline(); }
}  // namespace md::detail

#endif
