#include "chares/chare_state.h"

#include <fmt/format.h>

namespace jacobi {

void begin_state(job_state& job, const options& o, const decomposition& cut, bool on_gpus) {
  job.on_gpus = on_gpus;
  job.grid = o.grid;
  job.cx = cut.cx();
  job.cy = cut.cy();
  job.cz = cut.cz();
}

void check_restarted_state(const job_state& job, const options& o, bool on_gpus) {
  if (job.grid.nx != o.grid.nx || job.grid.ny != o.grid.ny || job.grid.nz != o.grid.nz) {
    throw imbrex::usage_error(
        fmt::format("the checkpoint is of a grid of {} x {} x {}, and {} x {} x {} was asked for: give the options of "
                    "the first run",
                    job.grid.nx, job.grid.ny, job.grid.nz, o.grid.nx, o.grid.ny, o.grid.nz));
  }
  if (job.on_gpus != on_gpus) {
    throw imbrex::usage_error(fmt::format("the checkpoint is of blocks {}: restart with --device {}",
                                          job.on_gpus ? "on GPUs" : "on the host", job.on_gpus ? "cuda" : "host"));
  }
}

}  // namespace jacobi
