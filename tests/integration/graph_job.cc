// Graphs of tasks over ranks, on the host and on devices, against the same tasks one after the other.
#include <imbrex/imbrex.h>
#include <imbrex/task_graph.h>

#include "graph_job.hk"
#include "unit/object/distribution/graph_plan.h"

namespace ix = imbrex;
using namespace imbrex_test;

namespace {

static_assert(sizeof(unsigned long) == sizeof(std::uint64_t));

void plus_by_copy(in a, out x, std::uint64_t c, out copy) {
  std::ranges::copy(a, copy.begin());
  plus(copy, x, c);
}

void submit_step(ix::task_graph& g, ix::distributed<std::uint64_t>& x, const plan& p, const step& s) {
  const ix::graph_task_options o{.rank = s.rank};
  const int n = static_cast<int>(size_of(p, s.c)), m = static_cast<int>(size_of(p, s.a));
  const auto shape = ix::launch_shape::over(static_cast<std::size_t>(n));
  switch (s.kind) {
    case 0: g.submit(o, &set, write(x(s.c)), s.value); break;
    case 1: g.submit(o, stir_on_device, shape, n, s.value, x(s.c)); break;
    case 2: g.submit(o, add_on_device, shape, n, m, x(s.a), x(s.c)); break;
    case 3: g.submit(o, &add_both, x(s.a), x(s.b), x(s.c)); break;
    case 4: g.submit(o, &cross, x(s.b), x(s.c)); break;
    case 5: g.submit(o, &from, x(s.a), write(x(s.c))); break;
    case 6: g.submit(o, plus_on_device, shape, n, m, s.value, x(s.a), commute(x(s.c))); break;
    case 7: g.submit(o, plus_on_device, shape, n, m, s.value, x(s.a), reduce(x(s.c), ix::sum)); break;
    case 8: g.submit(o, &plus, x(s.a), reduce(x(s.c), ix::sum).over(2), s.value); break;
    case 9:
      g.submit(o, &plus_by_copy, x(s.a), commute(x(s.c)), s.value, ix::scratch<std::uint64_t>(size_of(p, s.a)));
      break;
    default: g.migrate(x(s.c), static_cast<ix::rank_id>(s.value % static_cast<unsigned>(g.num_ranks())));
  }
}

ix::task<int> random_graph(ix::task_graph& g, plan p) {
  const auto sizes = [&](const ix::index1d& i) { return size_of(p, i.x); };
  ix::distributed<std::uint64_t> x(g, p.num_objects, sizes, anyhow{p.seed});
  for (const step& s : steps_of(p, g.num_ranks())) {
    submit_step(g, x, p, s);
    co_await g.fewer_tasks_than(static_cast<std::uint64_t>(p.throttle));
  }
  std::vector<numbers> result(static_cast<std::size_t>(p.num_objects));
  for (ix::rank_id r = 0; r < g.num_ranks(); ++r) {
    for (int i = 0; i < p.num_objects; ++i) {
      numbers* const to = &result[static_cast<std::size_t>(i)];
      g.submit({.rank = r}, [to](in v) { to->assign(v.begin(), v.end()); }, x(i));
    }
  }
  co_await ix::barrier(g);
  if (result != one_after_the_other(p, g.num_ranks())) {
    throw ix::error(fmt::format("the graph of seed {} went wrong on rank {}", p.seed, g.rank()));
  }
  co_return 1;
}

ix::task<int> start(ix::runtime& rt) {
  int num_graphs = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const plan p{.seed = seed, .num_tasks = 200, .throttle = seed % 3 == 0 ? 30 : 1'000'000};
    num_graphs += co_await ix::run_graph<&random_graph>(rt, p);
  }
  fmt::print("{} graphs on {} ranks are right\n", num_graphs, rt.num_ranks());
  co_return num_graphs == 20 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
