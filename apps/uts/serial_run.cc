#include "serial_run.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "result.h"
#include "tree/exploration.h"
#include "tree/named_trees.h"

namespace uts {

timed_counts search_serially(const tree_parameters& p, node_progress& shown) {
  using clock = std::chrono::steady_clock;
  const tree t(p);
  shown.begin();
  const clock::time_point begin = clock::now();
  const tree_counts counts = explore_all(t, [&](std::int64_t nodes) { shown.update(nodes); });
  return {counts, std::chrono::duration<double>(clock::now() - begin).count()};
}

int run_serial(const options& o) {
  check_report_writable(o);
  result r;
  if (!o.quiet) fmt::print("{}", header_text(o, r));
  std::fflush(stdout);
  node_progress shown(expected_nodes(o), !o.quiet);
  for (int i = 0; i < o.repeats; ++i) {
    const timed_counts found = search_serially(o.tree, shown);
    r.counts = found.counts;
    r.seconds.push_back(found.seconds);
  }
  shown.finish();
  return conclude(o, r);
}

std::int64_t expected_nodes(const options& o) {
  const named_tree* const known = known_tree(o.tree);
  return known != nullptr ? known->counts.nodes : 0;
}

}  // namespace uts
