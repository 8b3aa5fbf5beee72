#pragma once

#include <string>
#include <vector>

#include "factor_options.h"

namespace cholesky {

struct result {
  int ranks = 1;
  int pes = 1;  ///< of a rank
  std::vector<double> seconds;
  double error = 0;  ///< the greatest of a row's relative errors of L (L^T x) against A x, x = (1, 1, ...)
  bool checked = false;

  bool verified() const { return checked && error < 1e-12; }
  double gflops(int n) const;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & ranks & pes & seconds & error & checked;
  }
};

std::string text(const options& o, const result& r);
/// The report, as JSON text. Field names are part of the interface: they are never renamed.
std::string report_json(const options& o, const result& r);

}  // namespace cholesky
