#pragma once

#include "node_progress.h"
#include "options.h"
#include "tree/tree_counts.h"

namespace uts {

struct timed_counts {
  tree_counts counts;
  double seconds = 0;
};

/// Searches the tree once by a loop in this thread.
timed_counts search_serially(const tree_parameters& p, node_progress& shown);

/// --impl serial, from the header to the report. Returns the program's exit code.
int run_serial(const options& o);

/// How many nodes a progress line expects; 0 where nobody knows.
std::int64_t expected_nodes(const options& o);

}  // namespace uts
