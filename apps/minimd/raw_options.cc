#include "raw_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>

#include "command_line.h"
#include "imbrex/base/error.h"
#include "options.h"

namespace md {
namespace {

/// Accepts what reads as a whole number of that type and says so otherwise (CLI11 takes the nearest it can hold).
template <class Number>
CLI::Validator whole() {
  auto complaint = [](std::string& text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = error == std::errc{} && end == text.data() + text.size();
    return good ? std::string() : fmt::format("{} is no whole number that can be used", text);
  };
  return CLI::Validator(complaint, "");
}

template <class Number>
void add_whole(CLI::App& app, const char* names, Number& value, const std::string& text) {
  app.add_option(names, value, text)->check(whole<std::int64_t>());
}
void add_whole(CLI::App& app, const char* names, std::optional<int>& value, const std::string& text) {
  app.add_option(names, value, text)->check(whole<int>());
}
void add_whole(CLI::App& app, const char* names, int& value, const std::string& text) {
  app.add_option(names, value, text)->check(whole<int>());
}

void declare_problem(CLI::App& app, options& o, raw_options& raw) {
  app.add_option("-i,--input_file", o.input_file,
                 "miniMD or LAMMPS input, told apart by content (default: a built-in Lennard-Jones problem)");
  add_whole(app, "-n,--nsteps", raw.steps, "steps");
  add_whole(app, "-s,--size", raw.size, "unit cells in x, y and z");
  add_whole(app, "--nx", raw.nx, "unit cells in x, also -nx (and in y and z, where nothing else says those)");
  add_whole(app, "--ny", raw.ny, "unit cells in y, also -ny");
  add_whole(app, "--nz", raw.nz, "unit cells in z, also -nz");
  app.add_option("-u,--units", raw.units, "lj or metal");
  app.add_option("-p,--force", raw.force, "lj or eam (without -i: a built-in problem for copper)");
  app.add_option("-f,--data_file", raw.data, "LAMMPS data file to start from, or none");
  app.add_option("--eam", raw.eam, "funcfl file of EAM (default: what the input says, or Cu_u6.eam)");
  app.add_option("--dt", raw.dt, "time step");
  app.add_option("--temperature", raw.temperature, "initial temperature");
  app.add_option("--density", raw.density, "atoms per volume, of the lattice");
  app.add_option("--imbalance", raw.imbalance,
                 "so many times as dense is the lattice at the upper end in z as at the lower (default: 1)");
  app.add_option("--cutoff", raw.cutoff, "of the forces");
  app.add_option("--skin", raw.skin, "lists hold pairs up to cutoff + skin");
  add_whole(app, "--reneighbour", raw.reneighbour, "steps between builds of the lists; 0: never");
  add_whole(app, "--thermo", raw.thermo, "steps between rows of thermo; 0: at the start and the end");
}

void declare_execution(CLI::App& app, options& o, raw_options& raw) {
  app.add_option("--impl", raw.impl, "chare, mpi (one part of the box for each rank), or serial (a loop, one thread)")
      ->capture_default_str();
  add_whole(app, "-c", o.num_chares, "number of chares in all");
  add_whole(app, "--odf", o.odf, "chares per PE");
  add_whole(app, "-t,--num_threads,--pes", o.pes, "PEs per process (default: the cores of this process)");
  app.add_option("--exchange", raw.exchange, "direct, or rounds of x, y and z")->capture_default_str();
  app.add_option("--lists", raw.lists, "full or half neighbour lists (default: half)");
  add_whole(app, "--half_neigh", raw.half_neigh, "0: --lists full; 1 or -1: --lists half");
  add_whole(app, "--gn,--ghost_newton", raw.ghost_newton,
            "half lists: 1 (default): pairs with ghosts once; 0; also -gn");
  add_whole(app, "--sort", raw.sort, "sort atoms every so many steps; 0: never (default: when lists are built)");
  app.add_flag("--deterministic", o.deterministic, "the same bits on any number of PEs and chares; full lists");
  app.add_option("-d,--device", o.device,
                 "where to compute: host, or cuda: on GPUs, a PE each, with full lists where none are asked for")
      ->capture_default_str();
  app.add_option(
      "--precision", raw.precision,
      "of the forces of pairs: double (default), or single, on GPUs; positions, velocities and sums stay double");
  app.add_option("--comm", raw.halos,
                 "on GPUs: atoms go to other boxes directly (device, the default) or by way of host memory");
  app.add_option(
      "--streams", raw.streams,
      "on GPUs: two for each chare (chare, the default), five for each (split), or five for each GPU (device)");
}

void declare_output(CLI::App& app, options& o, raw_options& raw) {
  add_whole(app, "-o,--yaml_output", raw.yaml_level, "1: write miniMD-<date>.yaml; 0: do not");
  app.add_option("--yaml", o.yaml, "write that to this file");
  app.add_flag("--yaml_screen", o.yaml_screen, "write that to stdout");
  app.add_option("--dump", o.dumps, "atoms to .xyz, .lammpstrj or .vtu files; may be repeated")->delimiter(',');
  add_whole(app, "--dump-every", raw.dump_every, "steps between dumps; 0 (default): the last state only");
  app.add_option("--report", o.report, "write a JSON report");
  app.add_option("--balance", o.balance,
                 "move boxes while it runs, by this strategy, such as greedy or rcb (see --imbrex-balance)");
  app.add_option("--trace", o.trace, "write a Chrome trace (not with --impl mpi)");
  app.add_flag("--verify", o.verify, "compare with a serial reference");
  app.add_flag("--quiet", o.quiet, "print errors only");
}

/// Known, so that the message says more than that they are not.
void declare_left_out(CLI::App& app) {
  for (const left_out_option& option : left_out_options()) {
    const auto refuse = [option](const std::string&) {
      throw imbrex::usage_error(fmt::format("{} is left out: {}", option.names, option.reason));
    };
    app.add_option_function<std::string>(option.cli, refuse)->group("")->expected(0, 1);
  }
}

}  // namespace

void declare_options(CLI::App& app, options& o, raw_options& raw) {
  declare_problem(app, o, raw);
  declare_execution(app, o, raw);
  declare_output(app, o, raw);
  declare_left_out(app);
}

}  // namespace md
