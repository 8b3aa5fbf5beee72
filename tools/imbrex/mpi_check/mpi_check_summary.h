#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mpi_check.h"

namespace mpi_check {

/// The middle of some values, and between which a part of them lies.
struct spread {
  double median = 0;
  double low = 0;
  double high = 0;
};

/// Median and quartiles; `values` is not empty.
spread quartiles_of(std::vector<double> values);

/// Median of `values`, and the interval that holds the true one with 95 % (bootstrap by percentiles, always the same
/// resamples). Of fewer than 3 values: between least and greatest.
spread interval_of(const std::vector<double>& values);

/// One variant: its seconds with quartiles, and how they relate to plain's of the same round.
struct variant_summary {
  variant what;
  std::size_t num_runs = 0;
  spread seconds;
  spread wall_s;
  spread against_plain;  ///< ratio
  double added_s = 0;    ///< median over rounds of the difference to plain
};

/// One MPI routine, over all ranks of one run (medians over the rounds). Times in seconds.
struct routine_summary {
  std::string name;
  double calls = 0, checks = 0, checks_per_s = 0, bytes_sent = 0, bytes_received = 0;
  double own_queries = 0;    ///< pointer queries by the MPI itself
  double own_query_s = 0;    ///< time in those
  double injected_s = 0;     ///< time in the driver or the delay, when each buffer is checked
  double elided_s = 0;       ///< the same, elided
  double elided_by[3] = {};  ///< answered from declarations, from the cache, as host memory
};

/// One rank (medians over the rounds). Times in seconds.
struct rank_summary {
  int rank = 0;
  std::string host;
  double seconds = 0;  ///< of the plain run
  double checks = 0, injected_s = 0;
  std::vector<double> checks_by_routine;  ///< in the order of summary::routines
};

struct summary {
  std::string mpi;
  int ranks = 0;
  double rank_seconds = 0;  ///< of the plain run, times ranks
  bool has_driver = false;  ///< on every rank
  std::vector<variant_summary> variants;
  std::vector<routine_summary> routines;  ///< by time lost, then by checks
  routine_summary total;
  std::vector<rank_summary> per_rank;
};

summary summarize(const result& r);

/// For people.
std::string table(const result& r, const summary& s);
/// For programs; docs/sessions.md has its format.
nlohmann::ordered_json to_json(const result& r, const summary& s);
/// SVG: the time of each variant against plain, and what each routine loses.
std::string picture(const result& r, const summary& s);
/// All of it as one HTML file (also well-formed XML) that needs nothing beside it: what to do, pictures, tables.
std::string page(const result& r, const summary& s);

}  // namespace mpi_check
