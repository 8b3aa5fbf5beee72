// dgemm: what tasks on coherent objects cost, and what makes them fast (Thomadakis and Chrisochoides 2024, 4.1, Figures
// 8 and 9): matrix products, each with its own allocations and transfers.
//
//   dgemm --device cuda --report r.json      all variants on one GPU
//   dgemm                                    the same on the host, which copies to itself
#include <imbrex/imbrex.h>

#include <algorithm>
#include <string>
#include <vector>

#include "options.h"
#include "referee.h"
#include "support/program.h"
#include "support/words/runtime_words.h"

namespace dgemm {
namespace {

int run(int argc, char** argv) {
  const std::optional<options> o = parse_options(argc, argv);
  if (!o) return 0;
  apps::runtime_words words(argc, argv);
  words.add_default("device", to_string(o->device));
  if (o->device != imbrex::device_kind::host) words.add_default("gpus", std::to_string(o->most_gpus()));
  words.add_default("pes", std::to_string(std::max(o->most_pes(), o->most_gpus())));
  std::vector<char*> pointers = words.pointers();
  const options* const shared = &*o;
  return imbrex::run(words.count(), pointers.data(), &referee, shared);
}

}  // namespace
}  // namespace dgemm

int main(int argc, char** argv) {
  return apps::run_program("dgemm", "use smaller sizes", [&] { return dgemm::run(argc, argv); });
}
