#include "serial_main.h"

#include <fmt/format.h>

#include <cstdio>

#include "output/screen.h"
#include "run_output.h"
#include "system/memory_check.h"
#include "system/serial_run.h"
#include "verification.h"

namespace md {

int run_serial(int argc, char** argv, const options& o) {
  const run_setup s(o);
  check_outputs(o);
  const model m = s.model_of({1, 1, 1});
  check_memory(m, 1, 1);
  run_facts f = s.facts(argc, argv);
  f.num_chares = 1;
  f.decomposition = {1, 1, 1};
  print_head(o, f);
  serial_run run(m, s.initial());
  run.run(o.what.steps, [&](const thermo_row& row) {
    f.thermo.push_back(row);
    if (!o.quiet) fmt::print("{}", row_text(row));
    std::fflush(stdout);
  });
  f.seconds.total = f.thermo.back().seconds;
  f.seconds.other = f.seconds.total;
  conclude(o, f);
  return 0;
}

}  // namespace md
