// Which memory a buffer takes, by its counts, types and displacements.
#pragma once

#include "base/buffer.h"
#include "driver/data_runs.h"

namespace imbrex::sessions::IX_MPI {

struct span {
  MPI_Aint begin = 0;  ///< of the first byte, from the buffer's address
  std::size_t bytes = 0;
  bool dense = true;      ///< every byte of it is data
  bool in_order = false;  ///< and what comes in part fills the beginning
};

/// From the first byte to the last, gaps between blocks and within types included.
span span_of(const buffer& b);

/// The bytes of it that are data, from the buffer's address; all others are gaps.
data_runs runs_of(const buffer& b);

}  // namespace imbrex::sessions::IX_MPI
