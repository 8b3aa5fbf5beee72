#include "balance_replay.h"

#include <fmt/format.h>
#include <imbrex/balance/balance_strategy.h>
#include <imbrex/balance/example_problem.h>
#include <imbrex/base/clock.h>
#include <imbrex/base/error.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "commands.h"
#include "first_day/described_command.h"

namespace {

using namespace balance_replay;

void write_example(const options& o) {
  imbrex::example_options e;
  const int side = std::max(1, static_cast<int>(std::lround(std::cbrt(o.example_elements))));
  e.extents = {side, side, std::max(1, (o.example_elements + side * side / 2) / (side * side))};
  e.num_pes = o.example_pes;
  e.gpus_per_node = o.example_gpus;
  e.gpu_share = o.example_gpus > 0 ? 0.7 : 0;
  imbrex::balance_record_writer out(o.example);
  for (int i = 0; i < o.example_steps; ++i) {
    e.turn = 0.1 * i;
    out.write({"example", 100 * i, imbrex::example_problem(e)});
  }
  fmt::print(
      "{}: {} records of {} x {} x {} elements on {} PEs, with a hot spot that wanders. Now:\n"
      "  imbrex balance-replay {} --picture loads.svg\n",
      o.example, o.example_steps, e.extents[0], e.extents[1], e.extents[2], e.num_pes, o.example);
}

/// Strategies whose placements go on from record to record.
using placements = std::map<std::string, std::vector<int>>;

void go_on_from(const std::vector<int>& placement, const imbrex::balance_record& r, imbrex::balance_problem& p) {
  const bool is_other = placement.size() != p.elements.size() || std::ranges::any_of(placement, [&](int pe) {
                          return static_cast<std::size_t>(pe) >= p.pes.size();
                        });
  if (is_other) {
    throw imbrex::usage_error(fmt::format(
        "the record of step {} has {} elements and {} PEs, others than the one before it: leave out --follow", r.step,
        p.elements.size(), p.pes.size()));
  }
  for (std::size_t i = 0; i < placement.size(); ++i) p.elements[i].pe = placement[i];
}

outcome run(const std::string& strategy, const imbrex::balance_problem& p, std::vector<int>& placement) {
  outcome o{strategy, "", {}, {}, 0};
  o.before = imbrex::judge(p, {});
  try {
    const auto s = imbrex::make_strategy(strategy);
    const std::int64_t begin = imbrex::now_ns();
    const imbrex::balance_plan plan = s->plan(p);
    o.plan_seconds = static_cast<double>(imbrex::now_ns() - begin) * 1e-9;
    imbrex::check_plan(p, plan);
    o.after = imbrex::judge(p, plan);
    placement = imbrex::placement_after(p, plan);
  } catch (const imbrex::error& e) {
    o.why_not = e.what();
    placement = imbrex::placement_after(p, {});
  }
  return o;
}

comparison replay(imbrex::balance_record& r, const options& o, placements& now) {
  comparison c{r.program, r.step, r.problem.elements.size(), {}};
  for (const std::string& name : o.strategies) {
    std::vector<int>& placement = now[name];
    if (o.follow && !placement.empty()) go_on_from(placement, r, r.problem);
    c.outcomes.push_back(run(name, r.problem, placement));
  }
  return c;
}

void write_picture(const std::string& file, const comparison& c) {
  std::ofstream out(file);
  out << picture(c);
  out.close();
  if (!out) throw imbrex::usage_error(fmt::format("cannot write {}: is there room, and may you?", file));
  fmt::print("\nthe loads of all PEs at step {}: {}\n", c.step, file);
}

int replay_all(options o) {
  if (o.strategies.empty()) {
    for (const imbrex::strategy_facts& f : imbrex::known_strategies()) {
      if (f.is_built) o.strategies.push_back(f.name);
    }
  }
  for (const std::string& name : o.strategies) imbrex::make_strategy(name);  // none that there is not
  imbrex::balance_record_reader in(o.file);
  placements now;
  std::vector<comparison> all;
  while (auto record = in.next()) {
    all.push_back(replay(*record, o, now));
    fmt::print("{}{}", all.size() > 1 ? "\n" : "", table(all.back()));
  }
  if (all.empty())
    throw imbrex::usage_error(fmt::format("{} has no records: see imbrex balance-replay --help", o.file));
  if (all.size() > 1) fmt::print("\n{}", summary(all));
  if (!o.picture.empty()) write_picture(o.picture, all.back());
  return 0;
}

std::vector<std::string> names_of_strategies() {
  std::vector<std::string> names;
  for (const imbrex::strategy_facts& f : imbrex::known_strategies()) names.emplace_back(f.name);
  return names;
}

std::string list_of_strategies() {
  std::string text = "strategies:\n";
  for (const imbrex::strategy_facts& f : imbrex::known_strategies())
    text += fmt::format("  {:<14} {}{}\n", f.name, f.description, f.is_built ? "" : " (not in this build)");
  return text +
         "\nA strategy's `before` is where the elements were when they were recorded; efficiency is the share of a "
         "step "
         "that PEs or GPUs, whichever have more to do, work. To try it: imbrex balance-replay --example e.jsonl\n";
}

}  // namespace

void add_balance_replay_command(CLI::App& app, std::function<int()>& command) {
  CLI::App* replay_app = app.add_subcommand(
      "balance-replay", "recorded loads through every balancing strategy: what each would bring, and what it costs");
  const auto o = std::make_shared<options>();
  replay_app->add_option("file", o->file, "what was recorded (JSON lines)");
  replay_app->add_option("--strategy", o->strategies, "this one alone; may be given several times (default: all)")
      ->check(offers(names_of_strategies()))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  replay_app->add_option("--picture", o->picture, "SVG of the loads before and after, at the last step of the file");
  replay_app->add_flag("--follow", o->follow,
                       "begin each step with what the strategy has made of the one before, not with what was recorded");
  replay_app->add_option("--example", o->example, "write made-up records there instead, to try this");
  replay_app->add_option("--example-elements", o->example_elements, "how many, about (default 4096)")
      ->check(CLI::Range(1, 10'000'000));
  replay_app->add_option("--example-pes", o->example_pes, "how many; eight make a node (default 32)")
      ->check(CLI::Range(1, 100'000));
  replay_app->add_option("--example-gpus", o->example_gpus, "of each node (default 0)")->check(CLI::Range(0, 64));
  replay_app->add_option("--example-steps", o->example_steps, "records (default 4)")->check(CLI::Range(1, 1000));
  replay_app->footer(list_of_strategies());
  replay_app->callback([&command, o] {
    command = [o] {
      if (o->file.empty() == o->example.empty()) {
        throw imbrex::usage_error(
            "balance-replay wants a file of recorded loads, or --example FILE to write one; see imbrex balance-replay "
            "--help");
      }
      if (o->file.empty()) {
        write_example(*o);
        return 0;
      }
      return replay_all(*o);
    };
  });
}
