#include "options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "field/npy.h"
#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"
#include "support/output_place.h"
#include "support/words/command_line.h"

namespace jacobi {
namespace {

/// What the command line said, as text where the value needs reading.
struct raw_options {
  std::optional<std::int64_t> nx, ny, nz, check_every;
  std::optional<double> alpha, beta;
  std::string init, input, boundary = "0", impl = "chare", map, streams, halos, fusion, odf, steps;
  bool graph = false, no_graph = false;
};

[[noreturn]] void refuse(const std::string& what) { throw imbrex::usage_error(what); }

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Accepts what reads as a whole number of that type and says so otherwise (CLI11 takes the nearest it can hold).
template <class Number>
CLI::Validator whole() {
  auto complaint = [](std::string& text) {
    return parse<Number>(text) ? std::string() : fmt::format("{} is no whole number that can be used", text);
  };
  return CLI::Validator(complaint, "");
}

/// The same, or "auto".
template <class Number>
CLI::Validator whole_or_auto() {
  auto complaint = [](std::string& text) {
    return text == "auto" || parse<Number>(text)
               ? std::string()
               : fmt::format("{} is no whole number that can be used, nor auto", text);
  };
  return CLI::Validator(complaint, "");
}

CLI::Validator steps_or_word() {
  auto complaint = [](std::string& text) {
    return text == "auto" || text == "resident" || parse<int>(text)
               ? std::string()
               : fmt::format("{} is no whole number that can be used, nor auto or resident", text);
  };
  return CLI::Validator(complaint, "");
}

void declare(CLI::App& app, options& o, raw_options& raw) {
  app.add_option("-x", raw.nx, "cells in x (default 256; one extent given sets all three)")
      ->check(whole<std::int64_t>());
  app.add_option("-y", raw.ny, "cells in y")->check(whole<std::int64_t>());
  app.add_option("-z", raw.nz, "cells in z")->check(whole<std::int64_t>());
  app.add_option("-c", o.num_chares, "number of chares in all")->check(whole<std::int64_t>());
  app.add_option("--odf", raw.odf,
                 fmt::format("chares per PE (default {}, or the most the grid allows), or auto: what is fastest, found "
                             "by trying, and remembered (docs/performance.md)",
                             default_odf))
      ->check(whole_or_auto<int>());
  app.add_option("-w", o.warm_up, "warm-up iterations")->check(whole<std::int64_t>())->capture_default_str();
  app.add_option("-i", o.iterations, "iterations in each repeat")->check(whole<std::int64_t>())->capture_default_str();
  app.add_option("--repeats", o.repeats, "how often all of it is repeated")->check(whole<int>())->capture_default_str();
  app.add_option("--pes", o.pes, "PEs per process (default: the cores of this process)")->check(whole<int>());
  app.add_option("--init", raw.init, "initial state: hot-face (default), random:SEED or sine");
  app.add_option("--input", raw.input, "initial state from a .npy file, float64, C order, shape (nz, ny, nx)");
  app.add_option("--output", o.outputs, "final field to .npy, .vti or .pvti files; may be repeated")->delimiter(',');
  app.add_option("--tolerance", o.tolerance, "stop when the L2 norm of the change falls below this");
  app.add_option("--point-every", o.point_every,
                 "iterations between points at which a checkpoint may be made (see --imbrex-help)")
      ->check(whole<std::int64_t>())
      ->capture_default_str();
  app.add_option("--check-every", raw.check_every, "iterations between checks of the tolerance (default 10)")
      ->check(whole<std::int64_t>());
  app.add_option("--alpha", raw.alpha, "weighted update: alpha*c + beta*(sum of the neighbours)");
  app.add_option("--beta", raw.beta, "see --alpha");
  app.add_option("--boundary", raw.boundary, "value outside the domain, or periodic")->capture_default_str();
  app.add_option("--impl", raw.impl, "chare, mpi (one block for each rank) or hetero (objects and tasks)")
      ->capture_default_str();
  app.add_flag("--overlap", o.overlap, "with --impl mpi: interior, wait, exterior");
  app.add_option("--steps", raw.steps,
                 "iterations between two exchanges, which a block does in one pass over its memory (default 1; where "
                 "memory is the limit 4 to 8 on the host, 4 on GPUs); resident: on GPUs that have room for the grid in "
                 "their registers, which lie above one another, all in one kernel; or auto")
      ->check(steps_or_word());
  app.add_option("--map", raw.map, "chares to PEs: block (default) or round-robin");
  app.add_option("--imbalance", o.imbalance,
                 "a quarter of the chares computes each iteration so many times (default 1: once)")
      ->check(whole<int>());
  app.add_option("--wander", o.wander,
                 "iterations after which the quarter that --imbalance makes dear begins a chare further (default: it "
                 "stays)")
      ->check(whole<std::int64_t>());
  app.add_option("--balance", o.balance,
                 "move chares while it runs, by this strategy, such as greedy or refine (see --imbrex-balance)");
  app.add_option("--balance-every", o.balance_every,
                 "with --balance: iterations between calls that have loads looked at (default: the runtime looks by "
                 "itself)")
      ->check(whole<std::int64_t>());
  app.add_option("--device", o.device,
                 "where the kernels run: host, cuda, opencl (with --impl hetero), or auto (cuda where there is a GPU)")
      ->capture_default_str();
  app.add_option("--gpus", o.gpu.gpus, "GPUs of each process (default: all there are)")->check(whole<int>());
  app.add_option("--streams", raw.streams, "on GPUs: chare (default), split or device");
  app.add_option("--comm", raw.halos,
                 "halos on GPUs: device (default; with --impl mpi where MPI can) or host, by way of host memory");
  app.add_option(
      "--fusion", raw.fusion,
      "kernels on GPUs: none, A, B or C, by messages between chares; or D: that of C, halos stored on "
      "the neighbours' GPUs, iterations repeated without messages (default: D in one process, else C), or auto");
  app.add_flag("--graph", raw.graph, "on GPUs: iterations as CUDA graphs (default: with fusion D)");
  app.add_flag("--no-graph", raw.no_graph, "on GPUs: no graphs");
  app.add_option("--completion", o.gpu.completion, "on GPUs: flag (default), event, callback or sync");
  app.add_flag("--verify", o.verify, "compare the result with a serial reference, bit by bit");
  app.add_option("--report", o.report, "write a JSON report");
  app.add_option("--trace", o.trace, "write a Chrome trace (not with --impl mpi)");
  app.add_flag("--quiet", o.quiet, "print errors only");
}

void check_at_least(std::string_view option, std::int64_t value, std::int64_t least) {
  if (value < least) refuse(fmt::format("{} {} is too small: use at least {}", option, value, least));
}

/// True if extents were given, which are those of the grid then.
bool read_extents(options& o, const raw_options& raw) {
  const int given = raw.nx.has_value() + raw.ny.has_value() + raw.nz.has_value();
  if (given == 0) return false;
  if (given == 2) refuse("two of -x, -y and -z are given: give the third one too, or one alone for a cube");
  const std::int64_t all = raw.nx.value_or(raw.ny.value_or(raw.nz.value_or(0)));
  o.grid = {raw.nx.value_or(all), raw.ny.value_or(all), raw.nz.value_or(all)};
  check_at_least("-x", o.grid.nx, 1);
  check_at_least("-y", o.grid.ny, 1);
  check_at_least("-z", o.grid.nz, 1);
  std::int64_t cells = 0;
  if (__builtin_mul_overflow(o.grid.nx, o.grid.ny, &cells) || __builtin_mul_overflow(cells, o.grid.nz, &cells) ||
      cells > std::int64_t{1} << 56)
    refuse(fmt::format("a grid of {} x {} x {} cells is too large: use at most 2^56 cells", o.grid.nx, o.grid.ny,
                       o.grid.nz));
  return true;
}

initial_condition read_init(const raw_options& raw) {
  constexpr std::string_view random = "random:";
  if (!raw.input.empty() && !raw.init.empty())
    refuse(fmt::format("--init {} and --input {} contradict each other: give one", raw.init, raw.input));
  if (!raw.input.empty()) return {initial_kind::file, 0, raw.input};
  if (raw.init.empty() || raw.init == "hot-face") return {initial_kind::hot_face, 0, ""};
  if (raw.init == "sine") return {initial_kind::sine, 0, ""};
  if (raw.init.starts_with(random))
    if (const auto seed = parse<std::uint64_t>(std::string_view(raw.init).substr(random.size())))
      return {initial_kind::random, *seed, ""};
  refuse(fmt::format("--init {} is unknown: use hot-face, random:SEED with a number, or sine", raw.init));
}

boundary_condition read_boundary(const std::string& text) {
  if (text == "periodic") return {true, 0.0};
  const auto value = parse<double>(text);
  if (!value || !std::isfinite(*value))
    refuse(fmt::format("--boundary {} cannot be used: give a finite number, or periodic", text));
  return {false, *value};
}

stencil read_formula(const raw_options& raw) {
  if (raw.alpha.has_value() != raw.beta.has_value())
    refuse(fmt::format("{} is given alone: the weighted update needs both --alpha and --beta",
                       raw.alpha ? "--alpha" : "--beta"));
  if (!raw.alpha) return {};
  if (!std::isfinite(*raw.alpha) || !std::isfinite(*raw.beta))
    refuse(fmt::format("--alpha {} --beta {} cannot be used: give finite numbers", *raw.alpha, *raw.beta));
  return {true, *raw.alpha, *raw.beta};
}

/// The value whose name is `text`; nothing for an empty text.
template <class Value>
std::optional<Value> read_word(const char* option, const std::string& text, std::initializer_list<Value> all) {
  if (text.empty()) return std::nullopt;
  std::string known;
  for (const Value v : all) {
    if (text == name(v)) return v;
    known += fmt::format("{}{}", known.empty() ? "" : v == *(all.end() - 1) ? " or " : ", ", name(v));
  }
  refuse(fmt::format("{} {} is unknown: use {}", option, text, known));
}

void read_numbers_or_auto(options& o, const raw_options& raw) {
  o.tuned.odf = raw.odf == "auto";
  o.tuned.steps = raw.steps == "auto";
  if (!raw.odf.empty() && !o.tuned.odf) o.odf = *parse<int>(raw.odf);
  if (raw.steps == "resident") {
    o.steps = resident_steps;
  } else if (!raw.steps.empty() && !o.tuned.steps) {
    o.steps = *parse<int>(raw.steps);
  }
}

void read_words(options& o, const raw_options& raw) {
  read_numbers_or_auto(o, raw);
  const auto impl = read_word("--impl", raw.impl, {implementation::chare, implementation::mpi, implementation::hetero});
  if (!impl) refuse("--impl is empty: use chare, mpi or hetero");
  o.impl = *impl;
  if (!raw.map.empty() && raw.map != "block" && raw.map != "round-robin")
    refuse(fmt::format("--map {} is unknown: use block or round-robin", raw.map));
  o.map = raw.map == "round-robin" ? map_kind::round_robin : map_kind::block;
}

void check_opencl(const options& o) {
  if (o.impl != implementation::hetero)
    refuse("--device opencl needs --impl hetero: use --device host or cuda, or that");
  if (!o.gpu.completion.empty())
    refuse(fmt::format("--completion {} needs --device cuda: leave it out", o.gpu.completion));
#if !IMBREX_HAVE_OPENCL
  throw imbrex::not_built(
      "--device opencl is not built into this jacobi3d: install the OpenCL headers and loader and build again, or use "
      "--device host");
#endif
}

void check_device(const options& o) {
  const std::string& device = o.device;
  if (device == "host" || device == "auto") return;
  if (device == "opencl") return check_opencl(o);
  if (device != "cuda") refuse(fmt::format("--device {} is unknown: use host, cuda, opencl or auto", device));
#if !IMBREX_HAVE_CUDA
  throw imbrex::not_built(
      "--device cuda is not built into this jacobi3d: install the CUDA toolkit with nvcc and build again, or use "
      "--device host");
#endif
}

void read_gpu_options(options& o, const raw_options& raw) {
  gpu_options& g = o.gpu;
  g.streams = read_word("--streams", raw.streams, {stream_design::chare, stream_design::split, stream_design::device});
  g.halos = read_word("--comm", raw.halos, {halo_path::host, halo_path::device});
  o.tuned.fusion = raw.fusion == "auto";
  g.fusion = read_word(
      "--fusion", o.tuned.fusion ? std::string() : raw.fusion,
      {fusion_strategy::none, fusion_strategy::a, fusion_strategy::b, fusion_strategy::c, fusion_strategy::d});
  if (raw.graph && raw.no_graph) refuse("--graph and --no-graph contradict each other: give one");
  if (raw.graph || raw.no_graph) g.graph = raw.graph;
  if (g.gpus < 0) refuse(fmt::format("--gpus {} is too small: use at least 1, or leave it out for all", g.gpus));
  if (!g.completion.empty() && g.completion != "flag" && g.completion != "event" && g.completion != "callback" &&
      g.completion != "sync")
    refuse(fmt::format("--completion {} is unknown: use flag, event, callback or sync", g.completion));
  if (g.fusion == fusion_strategy::d) {
    if (g.halos == halo_path::host) refuse("--fusion D stores halos directly: leave out --comm host");
    if (g.streams) refuse(fmt::format("--fusion D has one stream for each chare: leave out --streams {}", raw.streams));
  }
  if (g.graph == true && g.halos == halo_path::host)
    refuse("--graph needs --comm device: between its kernels a graph cannot wait for messages");
  const bool any = g.gpus > 0 || g.streams || g.halos || g.fusion || o.tuned.fusion || g.graph || !g.completion.empty();
  if (any && o.device == "host")
    refuse(
        "--gpus, --streams, --comm, --fusion, --graph and --completion are about GPUs: leave them out, or use "
        "--device cuda");
  if (any && o.device == "auto") o.device = "cuda";
  if (o.steps == resident_steps) {
    if (o.device == "host") refuse("--steps resident is for GPUs: give a number, or --device cuda");
    if (o.boundary.periodic) refuse("--steps resident and --boundary periodic contradict each other: give one");
    if (o.odf.value_or(1) != 1)
      refuse(fmt::format("--steps resident has one chare on each GPU: leave out --odf {}", *o.odf));
    o.device = "cuda";
  }
}

/// What the runtime decides where data and work are objects and tasks.
void check_hetero(const options& o, const raw_options& raw) {
  const auto refuse_one = [](const std::string& option) {
    refuse(option + " needs --impl chare: with --impl hetero streams and copies are the runtime's, so leave it out");
  };
  const gpu_options& g = o.gpu;
  if (g.streams) refuse_one("--streams " + raw.streams);
  if (g.halos) refuse_one("--comm " + raw.halos);
  if (g.fusion) refuse_one("--fusion " + raw.fusion);
  if (g.graph) refuse_one(*g.graph ? "--graph" : "--no-graph");
}

void check_not_balanced(const options& o) {
  if (o.imbalance != 1) refuse(fmt::format("--imbalance {} needs --impl chare: leave it out", o.imbalance));
  if (!o.balance.empty()) refuse(fmt::format("--balance {} needs --impl chare: leave it out", o.balance));
}

void check_mpi(const options& o, const raw_options& raw) {
  if (o.odf) refuse("--odf needs --impl chare: with --impl mpi every rank has one block");
  if (o.pes > 1) refuse(fmt::format("--pes {} needs --impl chare: with --impl mpi use mpirun -n {}", o.pes, o.pes));
  if (!raw.map.empty()) refuse(fmt::format("--map {} needs --impl chare: leave it out", raw.map));
  check_not_balanced(o);
  if (!o.trace.empty()) refuse(fmt::format("--trace {} needs --impl chare: leave it out", o.trace));
  const gpu_options& g = o.gpu;
  if (g.gpus > 1)
    refuse(fmt::format("--gpus {} needs --impl chare: with --impl mpi every rank has one GPU, so use mpirun -n {}",
                       g.gpus, g.gpus));
  if (g.streams) refuse(fmt::format("--streams {} needs --impl chare: leave it out", raw.streams));
  if (g.fusion) refuse(fmt::format("--fusion {} needs --impl chare: leave it out", raw.fusion));
  if (g.graph) refuse(fmt::format("{} needs --impl chare: leave it out", *g.graph ? "--graph" : "--no-graph"));
  if (!g.completion.empty()) refuse(fmt::format("--completion {} needs --impl chare: leave it out", g.completion));
}

void check_steps(const options& o) {
  if (o.steps == 1) return;
  const std::string steps = steps_text(o);
  if (o.impl != implementation::chare) refuse(fmt::format("--steps {} needs --impl chare: leave it out", steps));
  if (o.imbalance > 1)
    refuse(
        fmt::format("--steps {} and --imbalance {} contradict each other: what is computed several times is one "
                    "iteration; give one",
                    steps, o.imbalance));
}

void check_tuned(const options& o) {
  if (!o.tuned.any()) return;
  if (o.impl != implementation::chare) refuse("auto needs --impl chare: give numbers, or leave --impl out");
  if (o.tuned.odf && o.num_chares)
    refuse(fmt::format("-c {} and --odf auto contradict each other: give one", *o.num_chares));
  if (o.tuned.steps && o.imbalance > 1)
    refuse(fmt::format("--steps auto and --imbalance {} contradict each other: give one", o.imbalance));
}

void check_implementation(const options& o, const raw_options& raw) {
  check_steps(o);
  check_tuned(o);
  if (o.impl == implementation::mpi) return check_mpi(o, raw);
  if (o.overlap) refuse("--overlap needs --impl mpi: chares overlap by themselves, so leave it out");
  if (o.impl == implementation::hetero) {
    check_not_balanced(o);
    check_hetero(o, raw);
  }
}

void check_outputs(const options& o) {
  std::vector<apps::named_output> all{{"--report", o.report}, {"--trace", o.trace}};
  for (const std::string& path : o.outputs) {
    if (!path.ends_with(".npy") && !path.ends_with(".vti") && !path.ends_with(".pvti"))
      refuse(fmt::format("cannot tell the format of --output {}: use a name that ends in .npy, .vti or .pvti", path));
    all.push_back({"--output", path});
  }
  apps::check_outputs_differ(all);
}

void check_numbers(options& o, const raw_options& raw) {
  if (o.num_chares && o.odf)
    refuse(fmt::format("-c {} and --odf {} contradict each other: give one", *o.num_chares, *o.odf));
  if (o.num_chares) check_at_least("-c", *o.num_chares, 1);
  if (o.odf) check_at_least("--odf", *o.odf, 1);
  check_at_least("--pes", o.pes, 0);
  check_at_least("-w", o.warm_up, 0);
  check_at_least("-i", o.iterations, 0);
  check_at_least("--repeats", o.repeats, 1);
  check_at_least("--steps", o.steps, 1);
  if (o.steps > 64 && raw.steps != "resident") refuse(fmt::format("--steps {} is too large: use at most 64", o.steps));
  check_at_least("--imbalance", o.imbalance, 1);
  check_at_least("--wander", o.wander, 0);
  if (o.wander > 0 && o.imbalance == 1)
    refuse(fmt::format("--wander {} needs --imbalance: say how dear what wanders is", o.wander));
  check_at_least("--balance-every", o.balance_every, 0);
  if (o.balance_every > 0 && o.balance.empty())
    refuse(fmt::format("--balance-every {} needs --balance: name a strategy", o.balance_every));
  check_at_least("--point-every", o.point_every, 1);
  if (o.tolerance && !(*o.tolerance > 0 && std::isfinite(*o.tolerance)))
    refuse(fmt::format("--tolerance {} cannot be used: give a positive number", *o.tolerance));
  if (!raw.check_every) return;
  if (!o.tolerance) refuse(fmt::format("--check-every {} needs --tolerance: give both or none", *raw.check_every));
  check_at_least("--check-every", *raw.check_every, 1);
  o.check_every = *raw.check_every;
}

/// The grid is that of the input file, if there is one.
void match_grid_and_input(options& o, bool extents_given) {
  if (o.initial.kind != initial_kind::file) return;
  const extents found = npy_reader(o.initial.input).grid();
  if (extents_given && !(found == o.grid))
    refuse(fmt::format("{} has shape ({}, {}, {}), but -x {} -y {} -z {} ask for ({}, {}, {}): leave out -x, -y and -z",
                       o.initial.input, found.nz, found.ny, found.nx, o.grid.nx, o.grid.ny, o.grid.nz, o.grid.nz,
                       o.grid.ny, o.grid.nx));
  o.grid = found;
}

}  // namespace

const char* name(implementation impl) {
  static constexpr const char* names[] = {"chare", "mpi", "hetero"};
  return names[static_cast<int>(impl)];
}
const char* name(map_kind map) { return map == map_kind::round_robin ? "round-robin" : "block"; }
const char* name(fusion_strategy fusion) {
  static constexpr const char* names[] = {"none", "A", "B", "C", "D"};
  return names[static_cast<int>(fusion)];
}

std::optional<options> parse_options(int argc, const char* const* argv) {
  CLI::App app("Jacobi3D: the Jacobi method on a three-dimensional grid, by overdecomposed chares.", "jacobi3d");
  app.footer("Options of the runtime start with --imbrex- and are passed over here.");
  options o;
  raw_options raw;
  declare(app, o, raw);
  if (!apps::parse(app, argc, argv)) return std::nullopt;
  apps::refuse_said_twice(app, argc, argv, {"--pes", "--gpus", "--completion", "--balance", "--trace"});
  apps::take_from_runtime(app, argc, argv, "--device", o.device);
  const bool extents_given = read_extents(o, raw);
  read_words(o, raw);
  o.initial = read_init(raw);
  o.boundary = read_boundary(raw.boundary);
  o.formula = read_formula(raw);
  read_gpu_options(o, raw);
  check_implementation(o, raw);
  check_device(o);
  check_numbers(o, raw);
  check_outputs(o);
  match_grid_and_input(o, extents_given);
  return o;
}

std::int64_t chare_count(const options& o, std::int64_t total_pes) {
  if (o.num_chares) return *o.num_chares;
  if (o.odf) return *o.odf * total_pes;
  std::int64_t count = std::min(default_odf * total_pes, o.grid.cells());
  while (!decomposition::possible(o.grid, count)) --count;  // ends: 1 is always possible
  return count;
}

}  // namespace jacobi
