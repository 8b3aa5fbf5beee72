#pragma once

#include <imbrex/imbrex.h>

#include <string>

namespace tune {

struct options {
  std::string output;  ///< the file
  bool quick = false;  ///< fewer sizes and repeats
};

/// The main chare: has two players measure each way that is possible at each size in turns, chooses the switch points,
/// and stores them. `o` outlives the job. Exit code 2 when there are not two ranks, or the file cannot be written.
imbrex::task<int> measure_protocols(imbrex::runtime& rt, const options* o);

}  // namespace tune
