#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tree/tree_parameters.h"

/// The command line of uts as one value.
namespace uts {

/// A loop in one thread; chares that make chares.
enum class implementation { serial, chares };
/// The option's spelling on the command line.
const char* name(implementation impl);

struct options {
  tree_parameters tree;
  implementation impl = implementation::chares;
  std::int64_t grain = 100;   ///< nodes that a chare visits, at most
  int split = 2;              ///< chares that are made of what is left then, at most; 0: one for each node
  bool deepest_first = true;  ///< --order: else chares search in the order in which they came
  int repeats = 1;
  bool compare = false;  ///< the serial loop, too, in turns with the chares
  bool verify = false;
  bool quiet = false;
  std::string report;   ///< JSON; empty: none
  std::string command;  ///< as it was typed, for the report
};

/// "deep" or "arrival".
const char* order_name(const options& o);

/// Reads a command line. Arguments that start with `--imbrex-` belong to the runtime and are passed over, with the
/// value that follows them where there is one. Returns nothing when help was asked for (it is printed to stdout).
/// Throws usage_error.
std::optional<options> parse_options(int argc, const char* const* argv);

}  // namespace uts
