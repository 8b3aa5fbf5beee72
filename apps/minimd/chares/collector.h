#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <vector>

#include "options.h"
#include "output/dump.h"

namespace md {

/// Writes the frames that blocks send it, one after another, while they go on.
class collector : public imbrex::chare<collector> {
 public:
  /// Returns when the last frame has been written.
  imbrex::task<> collect(std::vector<std::string> paths, std::vector<std::int64_t> steps, std::int64_t num_blocks,
                         std::int64_t num_atoms, vector3 box);

  imbrex::when<std::int64_t, std::vector<dump_atom>> frame;  ///< step; the atoms of a block

  template <class Archive>
  void serialize(Archive&) {}  // in runs that make checkpoints it has nothing to do
};

}  // namespace md
