// minimd: reads the options and hands them to the implementation they ask for.

#include "chares/chare_run.h"
#include "mpi/mpi_run.h"
#include "options.h"
#include "serial_main.h"
#include "support/program.h"
#include "support/words/own_arguments.h"

namespace {

int run(int argc, char** argv) {
  const std::optional<md::options> o = md::parse_options(argc, argv);
  if (!o) return 0;
  if (o->impl != md::implementation::chare)
    apps::refuse_runtime_arguments(argc, argv, std::string("--impl ") + md::name(o->impl));
  switch (o->impl) {
    case md::implementation::mpi: return md::run_mpi(argc, argv, *o);
    case md::implementation::serial: return md::run_serial(argc, argv, *o);
    case md::implementation::chare: break;
  }
  return md::run_chares(argc, argv, *o);
}

}  // namespace

int main(int argc, char** argv) {
  return apps::run_program("minimd", "use fewer cells or more ranks", [&] { return run(argc, argv); });
}
