// uts: the Unbalanced Tree Search benchmark (Olivier et al., LCPC 2006). Reads the options and hands them to the
// implementation they ask for.
#include <fmt/format.h>

#include <exception>
#include <new>

#include "chares/chare_run.h"
#include "imbrex/base/error.h"
#include "options.h"
#include "serial_run.h"

namespace {

int run(int argc, char** argv) {
  const std::optional<uts::options> o = uts::parse_options(argc, argv);
  if (!o) return 0;
  return o->impl == uts::implementation::serial ? uts::run_serial(*o) : uts::run_chares(argc, argv, *o);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const imbrex::error& e) {
    fmt::print(stderr, "uts: {}\n", e.what());
    return e.exit_code();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "uts: out of memory: use a larger --grain or more ranks\n");
  } catch (const std::exception& e) {
    fmt::print(stderr, "uts: {}\n", e.what());
  }
  return 1;
}
