#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "modes.h"
#include "options.h"

/// What a run found out, and how it is shown.
namespace pingpong {

/// One mode at one size.
struct point {
  mode by = mode::entry;
  std::uint64_t bytes = 0;
  int trips = 0;                   ///< round trips in each repeat
  std::vector<double> one_way_us;  ///< one for each repeat: its time divided by its hops
  int rounds = 0;                  ///< windows in each repeat
  std::vector<double> window_us;   ///< one for each repeat: its time divided by its messages; empty without --window

  /// From the medians: of the ping-pong, and one way with a window of messages outstanding.
  double gb_per_second() const;
  double window_gb_per_second() const;
};

struct result {
  surroundings where;
  std::string host;
  int cores = 0;
  std::vector<std::string> gpus;                      ///< of the players, where they have one
  std::vector<std::string> libraries;                 ///< "Open MPI v4.1.4", "UCX 1.22.0, ..."
  std::vector<std::pair<mode, std::string>> not_run;  ///< and why
  std::vector<mode> run;                              ///< in the order of the columns
  std::vector<point> points;
  std::vector<double> messages_together_per_second;  ///< the same with aggregation
  std::vector<double> messages_per_second;           ///< of the rate test; one for each repeat
  std::vector<std::string> wrong;                    ///< what did not hold what it should
};

/// Where the players are, and what is not measured.
std::string header_text(const options& o, const result& r);
/// The tables.
std::string tables_text(const options& o, const result& r);
/// The report, as JSON text. Field names are part of the interface: they are never renamed.
std::string report_json(const options& o, const result& r);

/// Finds out before the run whether the report can be written; throws usage_error. Does nothing without --report.
void check_report_writable(const options& o);
/// Writes the report beside its final place and renames it. Does nothing without --report. Throws error.
void write_report(const options& o, const result& r);

}  // namespace pingpong
