#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "decomposition.h"
#include "mpi/mpi_block.h"
#include "options.h"
#include "result.h"
#include "support/mpi_session.h"

/// What the MPI implementation does with one block for each rank, wherever the blocks are. All functions but
/// `decompose` and `facts_of` are collective and throw the same error on all ranks, except where `alone` says
/// otherwise.
namespace jacobi {

/// One block for each rank; `x_weight` as in decomposition.h. Throws usage_error if -c asks for another number.
decomposition decompose(const options& o, int num_ranks, std::int64_t x_weight = 1);

/// Adds the bytes of host memory that the ranks of a node need, `of_block` for each block and those of the
/// verification; throws out_of_memory if there are fewer.
void check_node_memory(const apps::mpi_session& mpi, const options& o, const decomposition& blocks,
                       std::uint64_t of_block);

/// What is known before the run; the host is assumed.
result facts_of(const apps::mpi_session& mpi, const options& o, const decomposition& blocks);

/// Makes this rank's block; what it throws need not be thrown on other ranks.
using block_maker = std::function<std::unique_ptr<mpi_block>()>;

/// All phases of solver.h, from creating the outputs to the report; `known` is from `facts_of`. Returns the exit code.
int run_phases(const apps::mpi_session& mpi, const options& o, const decomposition& blocks, const result& known,
               const block_maker& make_block);

}  // namespace jacobi
