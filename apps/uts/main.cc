// uts: the Unbalanced Tree Search benchmark (Olivier et al., LCPC 2006). Reads the options and hands them to the
// implementation they ask for.

#include "chares/chare_run.h"
#include "options.h"
#include "serial_run.h"
#include "support/program.h"
#include "support/words/own_arguments.h"

namespace {

int run(int argc, char** argv) {
  const std::optional<uts::options> o = uts::parse_options(argc, argv);
  if (!o) return 0;
  if (o->impl == uts::implementation::serial) apps::refuse_runtime_arguments(argc, argv, "--impl serial");
  return o->impl == uts::implementation::serial ? uts::run_serial(*o) : uts::run_chares(argc, argv, *o);
}

}  // namespace

int main(int argc, char** argv) {
  return apps::run_program("uts", "use a larger --grain or more ranks", [&] { return run(argc, argv); });
}
