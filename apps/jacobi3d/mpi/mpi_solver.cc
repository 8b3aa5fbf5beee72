#include "mpi/mpi_solver.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "field/block_field.h"
#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"
#include "mpi/mpi_agreement.h"
#include "mpi/mpi_host_block.h"
#include "mpi/mpi_phases.h"
#include "support/mpi_session.h"

#if IMBREX_HAVE_CUDA
#include "mpi/mpi_gpu_solver.h"
#endif

namespace jacobi {
namespace {

/// `why_no_gpu`: for the header.
int solve_on_host(const apps::mpi_session& mpi, const options& o, const std::string& why_no_gpu) {
  const decomposition blocks = decompose(o, mpi.num_ranks());
  check_node_memory(mpi, o, blocks, block_field::bytes_needed(blocks.cells({0, 0, 0}).size));
  result known = facts_of(mpi, o, blocks);
  known.why_no_gpu = why_no_gpu;
  return run_phases(mpi, o, blocks, known, [&] { return std::make_unique<mpi_host_block>(mpi, o, blocks); });
}

int solve(const apps::mpi_session& mpi, const options& o) {
  agree_on_options(mpi.comm(), digest(o));
  if (o.device == "host") return solve_on_host(mpi, o, "");
#if IMBREX_HAVE_CUDA
  const std::string why = o.device == "auto" ? why_no_gpu(mpi) : "";
  return why.empty() ? solve_on_gpus(mpi, o) : solve_on_host(mpi, o, why);
#else
  return solve_on_host(mpi, o, "this build has no CUDA");
#endif
}

}  // namespace

int run_mpi_solver(int argc, char** argv, const options& o) {
  const apps::mpi_session mpi(argc, argv);
  try {
    return solve(mpi, o);
  } catch (const imbrex::error& e) {  // the same one on every rank: see agree
    if (mpi.rank() == 0) fmt::print(stderr, "jacobi3d: {}\n", e.what());
    return e.exit_code();
  } catch (const std::exception& e) {  // of this rank alone: the others are waiting for it
    fmt::print(stderr, "jacobi3d: rank {}: {}\n", mpi.rank(), e.what());
    MPI_Abort(mpi.comm(), 1);
    return 1;
  }
}

}  // namespace jacobi
