#include "chares/chare_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "chares/searcher.h"
#include "serial_run.h"
#include "support/pe_time.h"

namespace uts {
namespace {

/// One search, from the root to quiescence, which says that no chare is left; the counts are fetched when it is over.
ix::task<double> search(ix::runtime* rt, ix::array_proxy<searcher> all, tree_parameters p,
                        std::vector<pe_share>* shares) {
  all.broadcast<&searcher::begin>();
  co_await rt->quiescence();
  const auto begin = apps::pe_time_ns();
  rt->create<explorer>(tree(p).root(), std::vector<node>{});
  co_await rt->quiescence();
  const auto end = apps::pe_time_ns();
  all.broadcast<&searcher::report>();
  *shares = co_await all.reduction<std::vector<pe_share>>();
  std::ranges::sort(*shares, {}, &pe_share::pe);
  co_return static_cast<double>(end - begin) * 1e-9;
}

tree_counts sum_of(const std::vector<pe_share>& shares) {
  tree_counts sum;
  for (const pe_share& s : shares) sum.add(s.counts);
  return sum;
}

void search_serially(const options& o, result& r, node_progress& shown) {
  const timed_counts found = search_serially(o.tree, shown);
  r.serial_seconds.push_back(found.seconds);
  r.serial_counts = found.counts;
}

void note_differences(result& r, const tree_counts& found, int repeat) {
  if (repeat > 0 && !(found == r.counts))
    r.wrong.push_back(
        fmt::format("search {} found {} nodes, the one before it {}", repeat + 1, found.nodes, r.counts.nodes));
  r.counts = found;
}

ix::task<int> start(ix::runtime& rt, const options* o) {
  check_report_writable(*o);
  result r;
  r.ranks = rt.num_ranks();
  r.pes = rt.num_pes();
  r.transport = rt.transport_name();
  if (!o->quiet) fmt::print("{}", header_text(*o, r));
  std::fflush(stdout);
  const auto all = rt.create_group<searcher>(search_plan{o->tree, o->grain, o->split, o->deepest_first});
  co_await searchers.share(all);
  co_await rt.quiescence();  // the group is on all PEs
  node_progress shown(expected_nodes(*o), !o->quiet);
  all.local_branch()->show_on(&shown);
  for (int i = 0; i < o->repeats; ++i) {
    shown.begin();
    auto searched = search(&rt, all, o->tree, &r.shares);
    r.seconds.push_back(co_await searched);
    note_differences(r, sum_of(r.shares), i);
    if (o->compare || (i == 0 && needs_serial_counts(*o))) search_serially(*o, r, shown);
  }
  all.local_branch()->show_on(nullptr);
  shown.finish();
  co_return conclude(*o, r);
}

}  // namespace

int run_chares(int argc, char** argv, const options& o) { return ix::run(argc, argv, &start, &o); }

}  // namespace uts
