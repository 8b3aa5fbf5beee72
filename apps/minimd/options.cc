#include "options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <ctime>

#include "command_line.h"
#include "option_values.h"
#include "output/yaml.h"
#include "problem_options.h"
#include "raw_options.h"
#include "support/output_place.h"
#include "support/words/command_line.h"
#include "support/words/own_arguments.h"

namespace md {
namespace {

void take_lists(options& o, const raw_options& raw) {
  if (raw.half_neigh && (*raw.half_neigh < -1 || *raw.half_neigh > 1))
    refuse_option(fmt::format("--half_neigh {} is unknown: use 0, 1 or -1", *raw.half_neigh));
  std::optional<list_style> given;
  if (raw.half_neigh) given = *raw.half_neigh == 0 ? list_style::full : list_style::half;
  if (!raw.lists.empty()) {
    const auto lists =
        read_word<list_style>("--lists", raw.lists, {"full", list_style::full}, {"half", list_style::half});
    if (given.value_or(lists) != lists)
      refuse_option(
          fmt::format("--lists {} and --half_neigh {} contradict each other: give one", raw.lists, *raw.half_neigh));
    given = lists;
  }
  if (o.deterministic && given == list_style::half)
    refuse_option("--deterministic contradicts half lists: use --lists full, or leave --lists and --half_neigh out");
  o.lists = given.value_or(o.deterministic ? list_style::full : list_style::half);
}

void take_newton(options& o, const raw_options& raw) {
  if (raw.ghost_newton && *raw.ghost_newton != 0 && *raw.ghost_newton != 1)
    refuse_option(fmt::format("--ghost_newton {} is unknown: use 0 or 1", *raw.ghost_newton));
  if (raw.ghost_newton) o.ghost_newton = *raw.ghost_newton == 1;
  if (o.what.force != force_style::eam || !o.ghost_newton) return;
  o.ghost_newton = false;
  o.notes.emplace_back("# EAM needs ghost_newton 0: changed");
}

void take_execution(options& o, const raw_options& raw) {
  o.impl = read_word<implementation>("--impl", raw.impl, {"chare", implementation::chare}, {"mpi", implementation::mpi},
                                     {"serial", implementation::serial});
  o.exchange = read_word<exchange_style>("--exchange", raw.exchange, {"direct", exchange_style::direct},
                                         {"rounds", exchange_style::rounds});
  if (raw.sort.value_or(-1) >= 0) o.sort_every = raw.sort;
  if (o.num_chares && o.odf)
    refuse_option(fmt::format("-c {} and --odf {} contradict each other: give one", *o.num_chares, *o.odf));
  if (o.num_chares) check_at_least("-c", *o.num_chares, 1);
  if (o.odf) check_at_least("--odf", *o.odf, 1);
  check_at_least("--pes", o.pes, 0);
}

void check_other_than_chares(const options& o) {
  if (o.impl == implementation::chare) return;
  const char* const other = o.impl == implementation::mpi ? "with --impl mpi every rank has one part of the box"
                                                          : "--impl serial has one box";
  if (o.num_chares) refuse_option(fmt::format("-c needs --impl chare: {}, so leave it out", other));
  if (o.odf) refuse_option(fmt::format("--odf needs --impl chare: {}, so leave it out", other));
  if (o.pes > 1 && o.impl == implementation::mpi)
    refuse_option(fmt::format("--pes {} needs --impl chare: with --impl mpi use mpirun -n {}", o.pes, o.pes));
  if (o.pes > 1) refuse_option(fmt::format("--pes {} needs --impl chare: --impl serial has one thread", o.pes));
  if (o.impl == implementation::serial && o.sort_every)
    refuse_option("--sort needs --impl chare or mpi: --impl serial sorts atoms when lists are built");
  if (o.impl == implementation::serial && !o.dumps.empty())
    refuse_option("--dump needs --impl chare or mpi: --impl serial is for comparisons");
  if (!o.trace.empty()) refuse_option(fmt::format("--trace {} needs --impl chare: leave it out", o.trace));
  if (!o.balance.empty()) refuse_option(fmt::format("--balance {} needs --impl chare: leave it out", o.balance));
}

void check_device(const options& o) {
  if (o.device == "host" || o.device == "cuda") return;
  if (!o.device.empty() && o.device.find_first_not_of("0123456789") == std::string::npos)
    refuse_option(fmt::format("--device {} is left out: devices have no numbers here", o.device));
  refuse_option(fmt::format("--device {} is unknown: use host or cuda", o.device));
}

void take_precision(options& o, const raw_options& raw) {
  if (!raw.precision.empty())
    o.what.single = read_word<bool>("--precision", raw.precision, {"double", false}, {"single", true});
  if (o.what.single && (o.device != "cuda" || o.what.force == force_style::eam))
    refuse_option("--precision single is for Lennard-Jones with --device cuda: leave it out");
}

/// On GPUs lists are full where nobody asks for half ones.
void take_gpu_lists(options& o, const raw_options& raw) {
  const bool half = raw.lists == "half" || raw.half_neigh.value_or(0) != 0;
  if (half && o.what.force == force_style::eam)
    refuse_option("half lists with --force eam are for --device host: use --lists full");
  if (!half) o.lists = list_style::full;
}

void take_gpu(options& o, const raw_options& raw) {
  take_precision(o, raw);
  if (o.device != "cuda") {
    if (!raw.streams.empty()) refuse_option(fmt::format("--streams {} needs --device cuda: leave it out", raw.streams));
    if (!raw.halos.empty()) refuse_option(fmt::format("--comm {} needs --device cuda: leave it out", raw.halos));
    return;
  }
  if (o.impl == implementation::serial)
    refuse_option("--device cuda needs --impl chare or mpi: --impl serial is a loop on the host");
  if (o.deterministic) refuse_option("--deterministic computes on the host: leave --device cuda out");
  if (o.sort_every || o.exchange != exchange_style::direct)
    refuse_option(
        "--sort and --exchange are for --device host: on a GPU atoms are sorted with the lists, and go to all boxes "
        "around at once");
  using apps::halo_path, apps::stream_design;
  if (!raw.streams.empty())
    o.streams = read_word<stream_design>("--streams", raw.streams, {"chare", stream_design::chare},
                                         {"split", stream_design::split}, {"device", stream_design::device});
  if (!raw.halos.empty())
    o.halos = read_word<halo_path>("--comm", raw.halos, {"device", halo_path::device}, {"host", halo_path::host});
  if (!raw.streams.empty() && o.impl == implementation::mpi)
    refuse_option(fmt::format("--streams {} needs --impl chare: leave it out", raw.streams));
  take_gpu_lists(o, raw);
}

/// An input of the reference may have both, so it is no error.
void note_unused_newton(options& o, const raw_options& raw) {
  if (raw.ghost_newton == 1 && o.ghost_newton && o.lists == list_style::full)
    o.notes.emplace_back("# lists are full: ghost_newton 1 changes nothing");
}

void check_dumps(const std::vector<std::string>& dumps) {
  for (const std::string& path : dumps) {
    if (!path.ends_with(".xyz") && !path.ends_with(".lammpstrj") && !path.ends_with(".vtu"))
      refuse_option(
          fmt::format("cannot tell the format of --dump {}: use a name that ends in .xyz, .lammpstrj or .vtu", path));
  }
}

void take_output(options& o, const raw_options& raw) {
  if (raw.yaml_level && *raw.yaml_level != 0 && *raw.yaml_level != 1)
    refuse_option(fmt::format("--yaml_output {} is unknown: use 0 or 1", *raw.yaml_level));
  if (raw.yaml_level == 0 && !o.yaml.empty())
    refuse_option(fmt::format("--yaml_output 0 and --yaml {} contradict each other: give one", o.yaml));
  if (raw.yaml_level == 1 && o.yaml.empty()) o.yaml = yaml_file_name(std::time(nullptr));
  check_dumps(o.dumps);
  if (raw.dump_every && o.dumps.empty())
    refuse_option(fmt::format("--dump-every {} needs --dump: give both or none", *raw.dump_every));
  take_at_least("--dump-every", raw.dump_every, 0, o.dump_every);
  std::vector<apps::named_output> all{{"--yaml", o.yaml}, {"--report", o.report}, {"--trace", o.trace}};
  for (const std::string& path : o.dumps) all.push_back({"--dump", path});
  apps::check_outputs_differ(all);
}

bool parse_words(CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> words = own_arguments(argc, argv);
  std::ranges::reverse(words);  // the order in which CLI11 takes a vector
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::ParseError& e) {
    refuse_option(apps::one_line(e.what()) + ": see minimd --help");
  }
  return true;
}

}  // namespace

const char* name(implementation impl) {
  return impl == implementation::mpi ? "mpi" : impl == implementation::serial ? "serial" : "chare";
}
const char* name(exchange_style exchange) { return exchange == exchange_style::rounds ? "rounds" : "direct"; }
const char* name(list_style lists) { return lists == list_style::full ? "full" : "half"; }

std::optional<options> parse_options(int argc, const char* const* argv) {
  CLI::App app("miniMD: molecular dynamics of Lennard-Jones and EAM atoms, by overdecomposed chares.", "minimd");
  app.footer(help_footer());
  options o;
  raw_options raw;
  declare_options(app, o, raw);
  if (!parse_words(app, argc, argv)) return std::nullopt;
  apps::refuse_said_twice(app, argc, argv, {"--pes", "--balance", "--trace"});
  apps::take_from_runtime(app, argc, argv, "--device", o.device);
  read_problem(o, raw);
  take_lists(o, raw);
  take_newton(o, raw);
  take_execution(o, raw);
  check_other_than_chares(o);
  check_device(o);
  take_gpu(o, raw);
  note_unused_newton(o, raw);
  take_output(o, raw);
  return o;
}

}  // namespace md
