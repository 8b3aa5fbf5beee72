#pragma once

#include "kernels/kernel.h"

/// The instruction-set variants behind `update_kernel`. Each is compiled for its instruction set by function attributes
/// and chosen at run time through these pointers (no ifunc, which does not get on with sanitizers).
namespace jacobi::detail {

/// Updates whole rows; ghosts of the faces in `unread` are taken to be 0.
using range_function = void (*)(const block_view& view, row_range rows, const stencil& formula, face_set unread);

/// Index: [weighted][streaming]. Null pointers where this build has no such instruction set.
struct variant_table {
  range_function update[2][2] = {};
};

variant_table baseline_variants();
variant_table avx2_variants();
variant_table avx512_variants();

}  // namespace jacobi::detail
