#pragma once

#include <cstdint>

#include "decomposition.h"
#include "kernels/kernel.h"
#include "options.h"

namespace jacobi {

/// Where a block lies.
struct block_place {
  const options& given;
  decomposition blocks;
  block_position position;
  box cells;
  store_policy policy;
};

/// A block's cells without ghosts, in rows of `pitch` doubles; until the next call.
struct cell_rows {
  const double* data = nullptr;
  std::int64_t pitch = 0;
};

}  // namespace jacobi
