// cholesky: A = L L^T by tiles as one graph of tasks, over the PEs and GPUs of one process or many.
//
//   cholesky --n 4096 --tile 256                                  OpenBLAS, a PE for each core
//   mpirun -n 4 cholesky --n 16384 --tile 512 --pes 1             four processes
//   cholesky --n 65536 --tile 2048 --devices cuda --gpus 4        four GPUs
//   mpirun -n 4 cholesky --n 65536 --tile 2048 --devices cuda     a GPU each
#include <imbrex/imbrex.h>

#include <algorithm>
#include <string>
#include <vector>

#include "factor_options.h"
#include "factorisation.h"
#include "support/program.h"
#include "support/words/runtime_words.h"

namespace cholesky {
namespace {

int run(int argc, char** argv) {
  const std::optional<options> o = parse_options(argc, argv);
  if (!o) return 0;
  apps::runtime_words words(argc, argv);
  words.add_default("device", o->on_gpus ? "cuda" : "host");
  if (o->on_gpus) words.add_default("gpus", std::to_string(o->gpus));
  if (o->on_gpus) words.add_default("task-policy", "shortest_finish");  // else most go to one of them
  const int least = o->on_gpus ? o->gpus : 1;
  if (o->pes > 0 || !o->on_host) words.add_default("pes", std::to_string(std::max(o->pes, least)));
  std::vector<char*> pointers = words.pointers();
  const options* const shared = &*o;
  return imbrex::run(words.count(), pointers.data(), &run_factorisation, shared);
}

}  // namespace
}  // namespace cholesky

int main(int argc, char** argv) {
  return apps::run_program("cholesky", "use a smaller --n or more ranks", [&] { return cholesky::run(argc, argv); });
}
