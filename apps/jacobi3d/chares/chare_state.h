#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <vector>

#include "chares/chare_block.h"
#include "decomposition.h"
#include "options.h"
#include "result.h"

namespace jacobi {

class gpu_block;

/// What the main chare knows of a run under way, and needs to go on with it after a restart.
struct job_state {
  imbrex::array_proxy<block> blocks;
  imbrex::array_proxy<gpu_block> gpu_blocks;
  bool on_gpus = false;
  extents grid;
  int cx = 0, cy = 0, cz = 0;
  int repeat = 0;          ///< which is under way
  bool iterating = false;  ///< its blocks are prepared
  std::vector<double> iteration_us;

  decomposition cut() const { return {grid, cx, cy, cz}; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & blocks & gpu_blocks & on_gpus & grid & cx & cy & cz & repeat & iterating & iteration_us;
  }
};

/// How a run begins: all is made; or it is there, from a checkpoint. Throws usage_error when that is of another grid.
void begin_state(job_state& job, const options& o, const decomposition& cut, bool on_gpus);
void check_restarted_state(const job_state& job, const options& o, bool on_gpus);

}  // namespace jacobi
