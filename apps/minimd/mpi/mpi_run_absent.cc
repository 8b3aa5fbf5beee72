#include "imbrex/base/error.h"
#include "mpi/mpi_run.h"

namespace md {

int run_mpi(int, char**, const options&) {
  throw imbrex::not_built("--impl mpi needs MPI: install libopenmpi-dev or libmpich-dev and configure again");
}

}  // namespace md
