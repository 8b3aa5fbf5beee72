// pingpong: what a message costs (Thomadakis and Chrisochoides 2024, 4.2), by every interface of imbrex and by what
// lies below, measured side by side in one run.
//
//   pingpong                 two PEs of one process, on two GPUs where there are two
//   mpirun -n 2 pingpong     two processes
#include <imbrex/imbrex.h>

#include <memory>
#include <vector>

#include "exchanges/referee.h"
#include "imbrex/base/build_config.h"
#include "options.h"
#include "plot.h"
#if IMBREX_HAVE_MPI
#include "raw/quiet_barrier.h"
#endif
#include "support/program.h"
#include "support/words/runtime_words.h"

namespace pingpong {
namespace {

/// What the runtime is to do where the user does not say: GPUs if there are any; one PE for each player.
void add_defaults(apps::runtime_words& words, bool several_processes) {
  const bool several_ranks = several_processes || words.has("ranks");
  words.add_default("device", "auto");
  words.add_default("pes", several_ranks ? "1" : "2");
}

int run_job(apps::runtime_words& words, const options* o) {
  std::vector<char*> pointers = words.pointers();
  return imbrex::run(words.count(), pointers.data(), &referee, o);
}

int run(int argc, char** argv) {
  const std::optional<options> o = parse_options(argc, argv);
  if (!o) return 0;
  apps::runtime_words words(argc, argv);
  bool reports = true;
#if IMBREX_HAVE_MPI
  const std::unique_ptr<mpi_players> mpi = mpi_players::join(&argc, &argv);
  reports = mpi == nullptr || mpi->rank_of_process() == 0;
  add_defaults(words, mpi != nullptr && mpi->num_processes() > 1);
  const int code = run_job(words, &*o);
  if (code == 70 && mpi != nullptr) mpi->abandon();
#else
  add_defaults(words, false);
  const int code = run_job(words, &*o);
#endif
  return code == 0 && reports && !o->plot.empty() ? draw_plot(*o) : code;
}

}  // namespace
}  // namespace pingpong

int main(int argc, char** argv) {
  return apps::run_program("pingpong", "use smaller sizes", [&] { return pingpong::run(argc, argv); });
}
