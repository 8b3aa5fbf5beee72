#pragma once

#include <cstdint>

#include "decomposition.h"
#include "support/exact_sum.h"

namespace jacobi {

/// Adds the square of `after - before`, rounded to double as each of the two operations is, of every cell of a block to
/// `sum`, exactly. Rows are `pitch` doubles apart, aligned to 64 bytes and padded with 0, as in
/// block_field.h. The L2 norm of the change is the root of the sum.
void add_squared_changes(apps::exact_sum& sum, const double* before, const double* after, extents size,
                         std::int64_t pitch);

}  // namespace jacobi
