#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "options.h"
#include "output/dump.h"

namespace md {

/// Writes the frames that blocks send it, one after another, while they go on.
class collector : public imbrex::chare<collector> {
 public:
  /// Before the first frame, and after a restart, when files go on where they were at the checkpoint; with other dumps
  /// than then, those are new.
  void open(const std::vector<std::string>& paths, std::int64_t num_blocks, std::int64_t num_atoms, vector3 box);
  /// The atoms of a block after a step whose frame is written when those of all have come.
  void frame(std::int64_t step, std::vector<dump_atom> atoms);

  template <class Archive>
  void serialize(Archive& ar) {
    if constexpr (!Archive::is_loading) note_places();
    ar & places_;
  }

 private:
  void note_places();

  std::map<std::string, std::unique_ptr<dump_writer>> writers_;             ///< by path
  std::map<std::string, dump_place> places_;                                ///< at a checkpoint
  std::map<std::int64_t, std::vector<std::vector<dump_atom>>> incomplete_;  ///< by step; of each block
  std::int64_t num_blocks_ = 0, num_atoms_ = 0;
  vector3 box_{};
};

}  // namespace md
