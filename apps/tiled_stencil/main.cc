// tiled_stencil: Jacobi's method in two dimensions by tiles as one graph of tasks, over the PEs and devices of one
// process or many.
//
//   tiled_stencil --n 4096 --tile 512                                 a PE for each core
//   mpirun -n 4 tiled_stencil --n 8192 --tile 1024 --pes 1            four processes
//   tiled_stencil --n 16384 --tile 4096 --devices cuda --gpus 4       four GPUs
#include <imbrex/imbrex.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stencil_graph.h"
#include "stencil_options.h"
#include "support/program.h"
#include "support/words/runtime_words.h"

namespace tiled_stencil {
namespace {

int run(int argc, char** argv) {
  const std::optional<options> o = parse_options(argc, argv);
  if (!o) return 0;
  apps::runtime_words words(argc, argv);
  words.add_default("device", to_string(o->on_devices.value_or(imbrex::device_kind::host)));
  if (o->on_devices) words.add_default("gpus", std::to_string(o->gpus));
  const int least = o->on_devices ? o->gpus : 1;
  if (o->pes > 0 || !o->on_host) words.add_default("pes", std::to_string(std::max(o->pes, least)));
  std::vector<char*> pointers = words.pointers();
  const options* const shared = &*o;
  return imbrex::run(words.count(), pointers.data(), &run_stencil, shared);
}

}  // namespace
}  // namespace tiled_stencil

int main(int argc, char** argv) {
  return apps::run_program("tiled_stencil", "use a smaller --n or more ranks",
                           [&] { return tiled_stencil::run(argc, argv); });
}
