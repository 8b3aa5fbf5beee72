// jacobi3d: reads the options and hands them to the implementation they ask for.

#include "chares/chare_solver.h"
#include "mpi/mpi_solver.h"
#include "options.h"
#include "solver.h"
#include "support/program.h"
#include "support/words/own_arguments.h"

namespace {

int run(int argc, char** argv) {
  const std::optional<jacobi::options> o = jacobi::parse_options(argc, argv);
  if (!o) return 0;
  if (o->impl == jacobi::implementation::mpi) apps::refuse_runtime_arguments(argc, argv, "--impl mpi");
  const jacobi::solver_function solve =
      o->impl == jacobi::implementation::mpi ? jacobi::run_mpi_solver : jacobi::run_chare_solver;
  return solve(argc, argv, *o);
}

}  // namespace

int main(int argc, char** argv) {
  return apps::run_program("jacobi3d", "use a smaller grid or more ranks", [&] { return run(argc, argv); });
}
