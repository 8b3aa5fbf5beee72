// minimd: reads the options and hands them to the implementation they ask for.
#include <fmt/format.h>

#include <exception>
#include <new>

#include "chares/chare_run.h"
#include "imbrex/base/error.h"
#include "mpi/mpi_run.h"
#include "options.h"
#include "serial_main.h"

namespace {

int run(int argc, char** argv) {
  const std::optional<md::options> o = md::parse_options(argc, argv);
  if (!o) return 0;
  switch (o->impl) {
    case md::implementation::mpi: return md::run_mpi(argc, argv, *o);
    case md::implementation::serial: return md::run_serial(argc, argv, *o);
    case md::implementation::chare: break;
  }
  return md::run_chares(argc, argv, *o);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const imbrex::error& e) {
    fmt::print(stderr, "minimd: {}\n", e.what());
    return e.exit_code();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "minimd: out of memory: use fewer cells or more ranks\n");
  } catch (const std::exception& e) {
    fmt::print(stderr, "minimd: {}\n", e.what());
  }
  return 1;
}
