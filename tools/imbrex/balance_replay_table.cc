#include <fmt/format.h>

#include "balance_replay.h"

namespace balance_replay {

namespace {

std::string in_units(double bytes) {
  constexpr double mega = 1e6;
  if (bytes < mega) return fmt::format("{:.1f} kB", bytes / 1e3);
  return bytes < 1e3 * mega ? fmt::format("{:.1f} MB", bytes / mega) : fmt::format("{:.1f} GB", bytes / mega / 1e3);
}

std::string in_seconds(double s) {
  if (s < 1e-3) return fmt::format("{:.0f} us", s * 1e6);
  return s < 1 ? fmt::format("{:.3g} ms", s * 1e3) : fmt::format("{:.3g} s", s);
}

void put_titles(std::string& text) {
  text += fmt::format("{:<14} {:>15} {:>10} {:>9} {:>10} {:>10} {:>10} {:>10} {:>9}\n", "strategy", "efficiency %",
                      "step", "moves", "moved", "PE to PE", "rank-rank", "node-node", "planned");
}

void put_row(std::string& text, const outcome& o) {
  if (!o.why_not.empty()) {
    text += fmt::format("{:<14} {}\n", o.strategy, o.why_not);
    return;
  }
  const imbrex::judgement& a = o.after;
  text += fmt::format("{:<14} {:>6.1f} -> {:>5.1f} {:>10} {:>9} {:>10} {:>10} {:>10} {:>10} {:>9}\n", o.strategy,
                      100 * o.before.efficiency, 100 * a.efficiency, in_seconds(a.time), a.num_moves,
                      in_units(static_cast<double>(a.moved_bytes)), in_units(a.bytes_between_pes),
                      in_units(a.bytes_between_ranks), in_units(a.bytes_between_nodes), in_seconds(o.plan_seconds));
  for (const imbrex::memory_excess& x : a.excesses) {
    text += fmt::format("{:<14} GPU {} holds {}, but has {}\n", "", x.gpu, in_units(static_cast<double>(x.bytes)),
                        in_units(static_cast<double>(x.limit)));
  }
}

void add(outcome& sum, const outcome& o) {
  sum.before.efficiency += o.before.efficiency;
  sum.after.efficiency += o.after.efficiency;
  sum.after.time += o.after.time;
  sum.after.num_moves += o.after.num_moves;
  sum.after.moved_bytes += o.after.moved_bytes;
  sum.after.bytes_between_pes += o.after.bytes_between_pes;
  sum.after.bytes_between_ranks += o.after.bytes_between_ranks;
  sum.after.bytes_between_nodes += o.after.bytes_between_nodes;
  sum.plan_seconds += o.plan_seconds;
}

void divide(outcome& sum, double num) {
  for (double* x : {&sum.before.efficiency, &sum.after.efficiency, &sum.after.time, &sum.after.bytes_between_pes,
                    &sum.after.bytes_between_ranks, &sum.after.bytes_between_nodes, &sum.plan_seconds})
    *x /= num;
}

}  // namespace

std::string table(const comparison& c) {
  std::string text =
      fmt::format("{}step {}: {} elements", c.program.empty() ? "" : c.program + ", ", c.step, c.num_elements);
  if (!c.outcomes.empty()) {
    const imbrex::judgement& b = c.outcomes.front().before;
    text += fmt::format(", {} PEs", b.pe_times.size());
    if (!b.gpu_times.empty()) text += fmt::format(", {} GPUs", b.gpu_times.size());
  }
  text += "; bytes are those of a step\n";
  put_titles(text);
  for (const outcome& o : c.outcomes) put_row(text, o);
  return text;
}

std::string summary(const std::vector<comparison>& all) {
  std::string text = fmt::format("all {} steps: means; moves and moved in all\n", all.size());
  put_titles(text);
  for (std::size_t k = 0; k < all.front().outcomes.size(); ++k) {
    outcome sum{all.front().outcomes[k].strategy, "", {}, {}, 0};
    sum.before.efficiency = sum.after.efficiency = 0;
    std::size_t num = 0;
    for (const comparison& c : all) {
      if (!c.outcomes[k].why_not.empty()) continue;
      add(sum, c.outcomes[k]);
      ++num;
    }
    if (num == 0) continue;
    divide(sum, static_cast<double>(num));
    if (num < all.size()) sum.strategy += fmt::format(" ({})", num);
    put_row(text, sum);
  }
  return text;
}

}  // namespace balance_replay
