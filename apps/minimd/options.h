#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "problem.h"
#include "support/gpu_choice.h"

/// The command line of minimd as one value. Every rank parses its own copy.
namespace md {

/// Chares that each own a part of the box; one part for each MPI rank; a loop over all of it in one thread.
enum class implementation { chare, mpi, serial };

struct options {
  problem what;
  std::string input_file;  ///< -i; empty: none, the problem is the built-in one
  implementation impl = implementation::chare;
  list_style lists = list_style::half;
  bool ghost_newton = true;    ///< forces on ghosts go back to their owners; with half lists. Never with EAM
  bool deterministic = false;  ///< `lists` is full then
  std::optional<std::int64_t> num_chares;  ///< -c; in all
  std::optional<int> odf;                  ///< --odf; chares per PE; never given together with -c
  int pes = 0;                             ///< --pes per process; 0: not given, the runtime chooses
  std::optional<int> sort_every;           ///< steps, 0: never; empty: when lists are built
  exchange_style exchange = exchange_style::direct;
  bool verify = false;
  bool quiet = false;
  std::string yaml;                ///< file in the reference's format; empty: none
  bool yaml_screen = false;        ///< the same to stdout
  std::string report;              ///< JSON; empty: none
  std::string trace;               ///< Chrome-trace JSON, written by the runtime; empty: none
  std::string balance;             ///< strategy by which the runtime moves boxes; empty: none. Of chares
  std::vector<std::string> dumps;  ///< .xyz, .lammpstrj or .vtu, told apart by suffix; no duplicates
  std::int64_t dump_every = 0;     ///< steps; 0: the last state only
  std::string device = "host";     ///< "host" or "cuda"
  apps::stream_design streams = apps::stream_design::chare;  ///< on GPUs
  std::optional<apps::halo_path> halos;                      ///< on GPUs; empty: directly where that can be
  std::vector<std::string> notes;  ///< lines about changed settings for one rank to print to stdout
};

/// Reads a command line, and the input file where it names one; options go before the file. Arguments that start with
/// `--imbrex-` belong to the runtime and are passed over, with the value that follows them where there is one. Returns
/// nothing when help was asked for (it is printed to stdout). Throws usage_error (wrong, missing or contradictory
/// options) and config_error (an input file that is not there or cannot be used). Whether --data_file and --eam are
/// there is for their readers to find.
std::optional<options> parse_options(int argc, const char* const* argv);

/// The option's spelling on the command line: "chare", "mpi", "serial"; "direct", "rounds"; "full", "half".
const char* name(implementation impl);
const char* name(exchange_style exchange);
const char* name(list_style lists);

}  // namespace md
