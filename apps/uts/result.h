#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.h"
#include "tree/tree_counts.h"

/// What a run found out, and how it is shown.
namespace uts {

/// What one PE did of one search.
struct pe_share {
  std::int32_t pe = 0;
  tree_counts counts;
  std::int64_t chares = 0;  ///< that it ran

  template <class Archive>
  void serialize(Archive& ar) {
    ar & pe & counts & chares;
  }
};

struct result {
  int ranks = 1;
  int pes = 1;  ///< in all
  std::string transport = "none";
  tree_counts counts;                  ///< of the last search; all must agree
  std::vector<double> seconds;         ///< of each search
  std::vector<pe_share> shares;        ///< of the last search, by PE; empty for the serial loop
  std::vector<double> serial_seconds;  ///< of each with --compare; or, once, of what others are compared with
  tree_counts serial_counts;           ///< where there are serial_seconds
  std::vector<std::string> wrong;      ///< what is not as it should be

  std::int64_t chares() const;
  /// By medians.
  double nodes_per_second() const;
  double speedup() const;     ///< over the serial loop; 0 where that did not run
  double efficiency() const;  ///< the same for each PE
};

/// Whether a run that is to be verified needs the serial loop's counts.
bool needs_serial_counts(const options& o);

/// Notes in `r.wrong` counts that differ from what is known: those published, those of the serial loop.
void judge(const options& o, result& r);

/// What is searched, and how; the figures. Both end in a line feed.
std::string header_text(const options& o, const result& r);
std::string figures_text(const options& o, const result& r);
/// The report, as JSON text. Field names are part of the interface: they are never renamed.
std::string report_json(const options& o, const result& r);

/// Finds out before the run whether the report can be written; throws usage_error. Does nothing without --report.
void check_report_writable(const options& o);
/// Writes the report beside its final place and renames it. Does nothing without --report. Throws error.
void write_report(const options& o, const result& r);

/// After the run: judges, prints, writes the report. The exit code: 1 when something is wrong.
int conclude(const options& o, result& r);

}  // namespace uts
