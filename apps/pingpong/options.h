#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "modes.h"

/// The command line of pingpong as one value.
namespace pingpong {

struct options {
  std::vector<mode> modes;           ///< empty: all that can run
  std::vector<std::uint64_t> sizes;  ///< in bytes, ascending, never empty
  int repeats = 5;
  double time_ms = 10;   ///< about how long each repeat of each point lasts
  int max_trips = 1000;  ///< round trips in each repeat, at most
  int chain = 100;       ///< of the chained modes: round trips enqueued before the host waits
  int window = 0;        ///< messages outstanding in the bandwidth test; 0: no such test
  bool rate = false;     ///< measure how many small messages pass one way
  bool quiet = false;
  std::string report;   ///< JSON; empty: none
  std::string plot;     ///< picture by scripts/plot-pingpong; empty: none
  std::string command;  ///< as it was typed, for the report
};

/// Reads a command line. Arguments that start with `--imbrex-` belong to the runtime and are passed over, with the
/// value that follows them where there is one. Returns nothing when help was asked for (it is printed to stdout).
/// Throws usage_error.
std::optional<options> parse_options(int argc, const char* const* argv);

}  // namespace pingpong
