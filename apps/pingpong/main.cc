// pingpong: what a message costs (Thomadakis and Chrisochoides 2024, 4.2), by every interface of imbrex and by what
// lies below, measured side by side in one run.
//
//   pingpong                 two PEs of one process, on two GPUs where there are two
//   mpirun -n 2 pingpong     two processes
#include <imbrex/imbrex.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exchanges/referee.h"
#include "imbrex/base/build_config.h"
#include "options.h"
#include "plot.h"
#if IMBREX_HAVE_MPI
#include "raw/quiet_barrier.h"
#include "support/program.h"
#endif

namespace pingpong {
namespace {

/// Whether the user chose it, on the command line or in the environment.
bool given(const std::vector<std::string>& words, std::string_view option, const char* variable) {
  if (std::getenv(variable) != nullptr) return true;
  for (const std::string& w : words) {
    if (w.starts_with(option) && (w.size() == option.size() || w[option.size()] == '=')) return true;
  }
  return false;
}

/// What the runtime is to do where the user does not say: GPUs if there are any; one PE for each player.
void add_defaults(std::vector<std::string>& words, bool several_processes) {
  const bool several_ranks = several_processes || given(words, "--imbrex-ranks", "IMBREX_RANKS");
  if (!given(words, "--imbrex-device", "IMBREX_DEVICE")) words.emplace_back("--imbrex-device=auto");
  if (!given(words, "--imbrex-pes", "IMBREX_PES"))
    words.emplace_back(several_ranks ? "--imbrex-pes=1" : "--imbrex-pes=2");
}

int run_job(std::vector<std::string> words, const options* o) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& w : words) pointers.push_back(w.data());
  pointers.push_back(nullptr);
  return imbrex::run(static_cast<int>(words.size()), pointers.data(), &referee, o);
}

int run(int argc, char** argv) {
  const std::optional<options> o = parse_options(argc, argv);
  if (!o) return 0;
  std::vector<std::string> words(argv, argv + argc);
  bool reports = true;
#if IMBREX_HAVE_MPI
  const std::unique_ptr<mpi_players> mpi = mpi_players::join(&argc, &argv);
  reports = mpi == nullptr || mpi->rank_of_process() == 0;
  add_defaults(words, mpi != nullptr && mpi->num_processes() > 1);
  const int code = run_job(std::move(words), &*o);
  if (code == 70 && mpi != nullptr) mpi->abandon();
#else
  add_defaults(words, false);
  const int code = run_job(std::move(words), &*o);
#endif
  return code == 0 && reports && !o->plot.empty() ? draw_plot(*o) : code;
}

}  // namespace
}  // namespace pingpong

int main(int argc, char** argv) {
  return apps::run_program("pingpong", "use smaller sizes", [&] { return pingpong::run(argc, argv); });
}
