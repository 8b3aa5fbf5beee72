#pragma once

#include <mpi.h>

#include <cstdint>

#include "decomposition.h"
#include "mpi/mpi_block.h"
#include "options.h"
#include "result.h"

namespace jacobi {

/// Collective. Compares the field, one block for each rank, with the serial reference, and the iterations done with the
/// reference's. Rank 0 computes the reference and sends every rank the cells of its block; no other rank holds more
/// than its own. Every rank gets the verdict on the whole field.
verification verify_by_reference(MPI_Comm comm, const options& o, const decomposition& blocks, mpi_block& block,
                                 std::int64_t iterations);

}  // namespace jacobi
