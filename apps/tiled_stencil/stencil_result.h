#pragma once

#include <string>
#include <vector>

#include "stencil_options.h"

namespace tiled_stencil {

struct result {
  int ranks = 1;
  int pes = 1;                  ///< of a rank
  std::vector<double> seconds;  ///< of all steps
  int steps_done = 0;           ///< all in all, since the grid was made
  double error = 0;             ///< the greatest difference from the exact values, as a part of their greatest
  bool checked = false;

  /// Each step may add a rounding error or two.
  double tolerance() const { return 1e-14 + 1e-15 * steps_done; }
  bool verified() const { return checked && error <= tolerance(); }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & ranks & pes & seconds & steps_done & error & checked;
  }
};

std::string text(const options& o, const result& r);
/// The report, as JSON text. Field names are part of the interface: they are never renamed.
std::string report_json(const options& o, const result& r);

}  // namespace tiled_stencil
