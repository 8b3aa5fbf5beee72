#pragma once

#include <string>
#include <utility>
#include <vector>

#include "options.h"

/// What a run found out, and how it is shown.
namespace dgemm {

/// One variant at one size, on so many devices, from so many PEs.
struct point {
  int n = 0;
  int gpus = 1, pes = 1;
  variant by = variant::naive;
  std::vector<double> seconds;  ///< one for each repeat: for all iterations

  double gflops(int iterations) const;
};

struct result {
  std::string host;
  int cores = 0;
  std::vector<std::string> devices;
  std::vector<variant> run;
  std::vector<std::pair<std::string, std::string>> not_run;  ///< and why
  std::vector<point> points;
  std::vector<std::string> wrong;  ///< products that are none

  /// What the speed of a size is compared with: `naive`, else the first variant, on the first number of devices and
  /// PEs.
  const point* reference(int n) const;
  double speedup(const point& p) const;
};

std::string header_text(const options& o, const result& r);
/// GFLOP/s, and speed over the reference.
std::string tables_text(const options& o, const result& r);
/// The report, as JSON text. Field names are part of the interface: they are never renamed.
std::string report_json(const options& o, const result& r);

}  // namespace dgemm
