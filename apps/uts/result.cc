#include "result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "support/statistics.h"
#include "tree/named_trees.h"

namespace uts {
namespace {

double median(const std::vector<double>& values) { return values.empty() ? 0 : apps::statistics_of(values).median; }

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

std::string counts_text(const tree_counts& c) {
  return fmt::format("{} nodes, {} leaves ({:.2f} %), depth {}", c.nodes, c.leaves,
                     100 * ratio(static_cast<double>(c.leaves), static_cast<double>(c.nodes)), c.depth);
}

void compare(result& r, const tree_counts& expected, const char* whose) {
  if (r.counts == expected) return;
  r.wrong.push_back(fmt::format("{}; {}: {}", counts_text(r.counts), whose, counts_text(expected)));
}

std::string seconds_text(const std::vector<double>& seconds) {
  const apps::statistics s = apps::statistics_of(seconds);
  std::string text = fmt::format("{:.4f} s", s.median);
  if (seconds.size() > 1) text += fmt::format(" (median of {}, {:.4f} to {:.4f})", seconds.size(), s.min, s.max);
  return text;
}

std::string shares_text(const result& r) {
  std::vector<double> nodes;
  nodes.reserve(r.shares.size());
  for (const pe_share& s : r.shares) nodes.push_back(static_cast<double>(s.counts.nodes));
  const apps::statistics s = apps::statistics_of(nodes);
  return fmt::format("{} chares, {:.1f} nodes each; nodes of a PE: {:.0f} to {:.0f}, mean {:.0f}\n", r.chares(),
                     ratio(static_cast<double>(r.counts.nodes), static_cast<double>(r.chares())), s.min, s.max, s.mean);
}

}  // namespace

std::int64_t result::chares() const {
  std::int64_t sum = 0;
  for (const pe_share& s : shares) sum += s.chares;
  return sum;
}
double result::nodes_per_second() const { return ratio(static_cast<double>(counts.nodes), median(seconds)); }
double result::speedup() const { return ratio(median(serial_seconds), median(seconds)); }
double result::efficiency() const { return speedup() / pes; }

bool needs_serial_counts(const options& o) { return o.verify && known_tree(o.tree) == nullptr; }

void judge(const options& o, result& r) {
  const named_tree* const known = known_tree(o.tree);
  if (o.verify && known != nullptr) compare(r, known->counts, "published");
  if (!r.serial_seconds.empty()) compare(r, r.serial_counts, "by the serial loop");
}

std::string header_text(const options& o, const result& r) {
  const named_tree* const known = known_tree(o.tree);
  std::string text = fmt::format("uts  {}{}: {}; {}", known != nullptr ? fmt::format("{}, ", known->name) : "",
                                 kind_text(o.tree), options_text(o.tree), name(o.impl));
  if (o.impl == implementation::chares) {
    text += fmt::format(", grain {}, split {}, order {}; {} PE{}", o.grain, o.split, order_name(o), r.pes,
                        r.pes == 1 ? "" : "s");
    if (r.ranks > 1) text += fmt::format(" of {} ranks, transport {}", r.ranks, r.transport);
  }
  return text + "\n";
}

std::string figures_text(const options& o, const result& r) {
  std::string text = counts_text(r.counts) + "\n";
  text += fmt::format("{}, {:.3f} million nodes/s\n", seconds_text(r.seconds), r.nodes_per_second() * 1e-6);
  if (!r.shares.empty()) text += shares_text(r);
  if (!r.serial_seconds.empty())
    text += fmt::format("serial loop {}: speedup {:.3f}, parallel efficiency {:.3f}\n", seconds_text(r.serial_seconds),
                        r.speedup(), r.efficiency());
  if (o.verify && r.wrong.empty())
    text += fmt::format("verified: {}\n",
                        known_tree(o.tree) != nullptr ? "the published counts" : "the serial loop's counts");
  return text;
}

int conclude(const options& o, result& r) {
  judge(o, r);
  if (!o.quiet) fmt::print("{}", figures_text(o, r));
  std::fflush(stdout);
  for (const std::string& w : r.wrong) fmt::print(stderr, "uts: wrong: {}\n", w);
  write_report(o, r);
  return r.wrong.empty() ? 0 : 1;
}

}  // namespace uts
