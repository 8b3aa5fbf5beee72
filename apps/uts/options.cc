#include "options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>

#include "imbrex/base/error.h"
#include "support/words/command_line.h"
#include "tree/named_trees.h"

namespace uts {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw imbrex::usage_error(what); }

constexpr std::array tree_letters{"-t", "-a", "-d", "-b", "-r", "-f", "-q", "-m"};

/// What the command line said; empty where it says nothing, so that what --tree says stays.
struct raw_options {
  std::string tree, impl = "chares", order = "deep";
  std::optional<int> kind, shape, depth, branching;
  std::optional<double> root_branching, shift, probability;
  std::optional<std::uint32_t> seed;
};

void declare_tree(CLI::App& app, raw_options& raw) {
  app.add_option("--tree", raw.tree,
                 "a tree of the benchmark's list, see below (default: T1, where no tree is defined)");
  app.add_option("-t", raw.kind, "kind: 0 binomial, 1 geometric (default), 2 hybrid, 3 balanced");
  app.add_option("-a", raw.shape, "shape of geometric trees: 0 linear (default), 1 exponential, 2 cyclic, 3 fixed");
  app.add_option("-d", raw.depth, "depth in which the shape counts (default: 6)");
  app.add_option("-b", raw.root_branching, "children of the root; mean number in geometric trees (default: 4)");
  app.add_option("-r", raw.seed, "seed of the root (default: 0)");
  app.add_option("-f", raw.shift, "hybrid trees: geometric above this part of the depth (default: 0.5)");
  app.add_option("-q", raw.probability, "binomial: probability that a node has children (default: 15/64)");
  app.add_option("-m", raw.branching, "binomial: and how many (default: 4)");
}

void declare_run(CLI::App& app, options& o, raw_options& raw) {
  app.add_option("--impl", raw.impl, "chares, or serial: a loop in one thread")->capture_default_str();
  app.add_option("--grain", o.grain, "nodes that a chare visits, at most")->capture_default_str();
  app.add_option("--split", o.split,
                 "chares that it makes of the nodes left then, at most; 0: one for each, as a recursion would")
      ->capture_default_str();
  app.add_option("--order", raw.order,
                 "which waiting chare a PE runs first: deep, one deep in the tree (few wait then), or arrival")
      ->capture_default_str();
  app.add_option("--repeats", o.repeats, "how often the tree is searched; times are medians")->capture_default_str();
  app.add_flag("--compare", o.compare, "search it by the serial loop too, in turns, and tell the parallel efficiency");
  app.add_flag("--verify", o.verify,
               "compare the counts with those published, or of other trees with the serial loop's");
  app.add_option("--report", o.report, "write a JSON report");
  app.add_flag("--quiet", o.quiet, "print errors only");
}

std::string footer() {
  std::string text = "Trees:\n";
  for (const named_tree& t : named_trees())
    text += fmt::format("  {:6}{:22}{:>14} nodes, depth {:<6} {}\n", t.name, kind_text(t.parameters), t.counts.nodes,
                        t.counts.depth, options_text(t.parameters));
  return text +
         "\nLetters change what --tree says; without --tree they define a tree beside the defaults. Options of the\n"
         "runtime start with --imbrex- and are passed over here.";
}

template <class To, class From>
void take(To& to, const std::optional<From>& given) {
  if (given) to = *given;
}

void take_tree(const CLI::App& app, options& o, const raw_options& raw) {
  tree_parameters& p = o.tree;
  const bool any_letter = std::ranges::any_of(tree_letters, [&](const char* letter) { return app.count(letter) > 0; });
  if (!raw.tree.empty() || !any_letter) p = find_tree(raw.tree.empty() ? "T1" : raw.tree).parameters;
  if (raw.kind && (*raw.kind < 0 || *raw.kind > 3)) refuse(fmt::format("-t {} is unknown: use 0 to 3", *raw.kind));
  if (raw.shape && (*raw.shape < 0 || *raw.shape > 3)) refuse(fmt::format("-a {} is unknown: use 0 to 3", *raw.shape));
  if (raw.kind) p.kind = static_cast<tree_kind>(*raw.kind);
  if (raw.shape) p.shape = static_cast<tree_shape>(*raw.shape);
  take(p.depth, raw.depth);
  take(p.root_branching, raw.root_branching);
  take(p.seed, raw.seed);
  take(p.shift, raw.shift);
  take(p.inner_probability, raw.probability);
  take(p.branching, raw.branching);
  for (const char* const letter : tree_letters) {
    if (app.count(letter) > 0 && !depends_on(p, letter))
      refuse(fmt::format("{} says nothing about a tree that is {}: leave it out", letter, kind_text(p)));
  }
  check(p);
}

void take_implementation(const CLI::App& app, options& o, const raw_options& raw) {
  if (raw.impl != "chares" && raw.impl != "serial")
    refuse(fmt::format("--impl {} is unknown: use chares or serial", raw.impl));
  if (raw.order != "deep" && raw.order != "arrival")
    refuse(fmt::format("--order {} is unknown: use deep or arrival", raw.order));
  o.deepest_first = raw.order == "deep";
  if (raw.impl == "chares") return;
  o.impl = implementation::serial;
  for (const char* const option : {"--grain", "--split", "--order", "--compare"}) {
    if (app.count(option) > 0) refuse(fmt::format("{} needs --impl chares: leave it out", option));
  }
  if (o.verify && known_tree(o.tree) == nullptr)
    refuse(
        "--verify needs --impl chares for a tree that is in no list: the serial loop is what others are compared with");
}

void check_numbers(const options& o) {
  if (o.grain < 1) refuse(fmt::format("--grain {} is too small: use at least 1", o.grain));
  if (o.split < 0) refuse(fmt::format("--split {} is too small: use at least 0", o.split));
  if (o.split == 1) refuse("--split 1 would leave all to one chare: use 0, or at least 2");
  if (o.repeats < 1) refuse(fmt::format("--repeats {} is too small: use at least 1", o.repeats));
}

}  // namespace

const char* name(implementation impl) { return impl == implementation::serial ? "serial" : "chares"; }
const char* order_name(const options& o) { return o.deepest_first ? "deep" : "arrival"; }

std::optional<options> parse_options(int argc, const char* const* argv) {
  CLI::App app("Unbalanced Tree Search: how a tree that nobody can foresee is divided, by chares that make chares.",
               "uts");
  app.footer(footer());
  options o;
  raw_options raw;
  declare_tree(app, raw);
  declare_run(app, o, raw);
  if (!apps::parse(app, argc, argv)) return std::nullopt;
  take_tree(app, o, raw);
  take_implementation(app, o, raw);
  check_numbers(o);
  o.command = apps::command_of(argc, argv);
  return o;
}

}  // namespace uts
