// jacobi3d: reads the options and hands them to the implementation they ask for.
#include <fmt/format.h>

#include <exception>
#include <new>

#include "chares/chare_solver.h"
#include "imbrex/base/error.h"
#include "mpi/mpi_solver.h"
#include "options.h"
#include "solver.h"

namespace {

int run(int argc, char** argv) {
  const std::optional<jacobi::options> o = jacobi::parse_options(argc, argv);
  if (!o) return 0;
  const jacobi::solver_function solve =
      o->impl == jacobi::implementation::mpi ? jacobi::run_mpi_solver : jacobi::run_chare_solver;
  return solve(argc, argv, *o);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const imbrex::error& e) {
    fmt::print(stderr, "jacobi3d: {}\n", e.what());
    return e.exit_code();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "jacobi3d: out of memory: use a smaller grid or more ranks\n");
  } catch (const std::exception& e) {
    fmt::print(stderr, "jacobi3d: {}\n", e.what());
  }
  return 1;
}
