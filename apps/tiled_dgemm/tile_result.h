#pragma once

#include <string>
#include <vector>

#include "tile_options.h"

namespace tiled_dgemm {

/// One size of matrix and tile.
struct point {
  int n = 0;
  int tile = 0;  ///< 0: the whole product by one call of the library, with as many threads as there are PEs
  std::vector<double> seconds;

  double gflops() const;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & n & tile & seconds;
  }
};

struct result {
  std::string host;
  int cores = 0;
  int ranks = 1;
  int pes = 1;  ///< of a rank
  std::vector<std::string> devices;
  std::string library;  ///< of the host; empty: not used
  std::vector<point> points;
  std::vector<std::string> wrong;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & host & cores & ranks & pes & devices & library & points & wrong;
  }
};

std::string header_text(const options& o, const result& r);
std::string table_text(const options& o, const result& r);
/// The report, as JSON text. Field names are part of the interface: they are never renamed.
std::string report_json(const options& o, const result& r);

}  // namespace tiled_dgemm
