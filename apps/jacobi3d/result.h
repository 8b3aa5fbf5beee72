#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decomposition.h"
#include "options.h"

/// What a run found out, and how it is shown.
namespace jacobi {

/// The outcome of comparing with the serial reference.
struct verification {
  bool same_bits = false;
  double max_abs_error = 0;
};

/// Filled by a solver, on the rank that reports.
struct result {
  extents grid;
  int cx = 0, cy = 0, cz = 0;  ///< chares in each direction (blocks of the MPI implementation)
  int pes = 1;                 ///< per process
  int ranks = 1;
  std::string device = "host";
  std::string why_no_gpu;          ///< where a GPU would have been used
  int gpus = 0;                    ///< per process; 0 on the host
  std::string gpu_strategy;        ///< "fusion D, graph, streams chare, comm store"; empty on the host
  std::string tuned;               ///< what `auto` was found to be, and how; empty without it
  std::string transport = "none";  ///< "loopback", "mpi", ...; "none" if nothing ever left the process
  implementation impl = implementation::chare;
  bool overlap = false;
  std::int64_t warm_up = 0;
  std::int64_t iterations = 0;  ///< done in each repeat; fewer than asked for when the tolerance was met
  std::vector<double>
      iteration_us;              ///< one for each repeat: its time divided by its iterations; empty if none were asked
  std::uint64_t field_hash = 0;  ///< of the final field of the last repeat
  std::optional<verification> verified;
  std::optional<double> change_norm;  ///< the last L2 norm of the change that was looked at; needs --tolerance
  std::uint64_t balance_looks = 0;    ///< with --balance: how often loads were looked at,
  double mean_efficiency = 1;         ///< and its mean over all looks but the first,
  std::uint64_t balance_moves = 0;    ///< how many blocks were moved,
  double first_efficiency = 1;        ///< and the mean load of the PEs against the largest, when it was looked at first
  double last_efficiency = 1;         ///< and last
  bool converged = false;             ///< the run stopped because of the tolerance

  double odf() const;               ///< chares per PE; need not be whole
  double cells_per_second() const;  ///< from the median; 0 without timed iterations
  double bytes_per_second() const { return 16.0 * cells_per_second(); }
};

/// The lines printed before the run: grid, blocks, where it runs, what it does.
std::string header_text(const options& o, const result& known);
/// The lines printed after it.
std::string summary_text(const options& o, const result& r);
/// The report, as JSON text. Field names are part of the interface: they are never renamed.
std::string report_json(const options& o, const result& r);

/// Finds out before the run whether the report can be written; throws usage_error with path, reason and remedy.
void check_report_writable(const options& o);
/// Writes the report beside its final place and renames it, so that a failure leaves an older report as it was.
/// Does nothing without --report. Throws error.
void write_report(const options& o, const result& r);

/// 0, or 1 if the verification failed.
int exit_code(const result& r);

}  // namespace jacobi
