#include "imbrex/object/distribution/barrier.h"

#include "imbrex/object/distribution/distributed.h"

namespace imbrex {

task<> barrier(task_graph& g) {
  distributed<char> here(g, g.num_ranks(), 1, map::round_robin{});
  distributed<char> everywhere(g, 1, 1);
  const graph_task_options o{.name = "barrier", .priority = 1'000'000};
  const auto begin = [](std::span<char> x) { x[0] = 1; };
  const auto join = [](std::span<const char>, std::span<char>) {};
  const auto see = [](std::span<const char>) {};
  co_await g.done();
  g.submit(o, begin, write(everywhere(0)));
  for (rank_id r = 0; r < g.num_ranks(); ++r) {
    g.submit(o, begin, write(here(r)));
    g.submit(o, join, here(r), everywhere(0));
  }
  for (rank_id r = 0; r < g.num_ranks(); ++r) {
    graph_task_options there = o;
    there.rank = r;
    g.submit(there, see, everywhere(0));
  }
  co_await g.done();
}

}  // namespace imbrex
