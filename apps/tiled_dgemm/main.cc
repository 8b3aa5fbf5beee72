// tiled_dgemm: one large matrix product as one graph of tasks on tiles, over the PEs and devices of one process or
// many.
//
//   tiled_dgemm --n 1024 --tile 32,64,128 --kernel library                       OpenBLAS, a PE for each core
//   tiled_dgemm --n 16384 --tile 2048 --kernel library --devices cuda --gpus 2   two GPUs
//   mpirun -n 2 tiled_dgemm --n 1024 --tile 64 --kernel library --pes 1          two processes
#include <imbrex/imbrex.h>

#include <algorithm>
#include <string>
#include <vector>

#include "product_graph.h"
#include "support/program.h"
#include "support/words/runtime_words.h"
#include "tile_options.h"

namespace tiled_dgemm {
namespace {

int run(int argc, char** argv) {
  const std::optional<options> o = parse_options(argc, argv);
  if (!o) return 0;
  apps::runtime_words words(argc, argv);
  words.add_default("device", to_string(o->on_devices.value_or(imbrex::device_kind::host)));
  if (o->on_devices) words.add_default("gpus", std::to_string(o->gpus));
  if (o->on_devices) words.add_default("task-policy", "shortest_finish");
  const int least = o->on_devices ? o->gpus : 1;
  if (o->pes > 0 || !o->on_host) words.add_default("pes", std::to_string(std::max(o->pes, least)));
  std::vector<char*> pointers = words.pointers();
  const options* const shared = &*o;
  return imbrex::run(words.count(), pointers.data(), &run_products, shared);
}

}  // namespace
}  // namespace tiled_dgemm

int main(int argc, char** argv) {
  return apps::run_program("tiled_dgemm", "use a smaller --n or more ranks",
                           [&] { return tiled_dgemm::run(argc, argv); });
}
