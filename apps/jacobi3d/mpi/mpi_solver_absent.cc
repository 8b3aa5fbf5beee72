// Stands in for mpi_solver.cc where MPI was not found at build time.
#include "imbrex/base/error.h"
#include "mpi/mpi_solver.h"

int jacobi::run_mpi_solver(int, char**, const options&) {
  throw imbrex::not_built(
      "--impl mpi is not built into this jacobi3d: install libopenmpi-dev and openmpi-bin and configure again, or use "
      "--impl chare");
}
