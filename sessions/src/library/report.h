// What is written at the end of a run: a table for people and JSON for programs (docs/sessions.md has its format).
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/kind_query.h"
#include "routines/buffer_usage.h"
#include "routines/thread_state.h"

namespace imbrex::sessions {

/// What one rank sends of one routine.
struct routine_row {
  std::uint64_t routine;  ///< routine_id
  routine_counts counts;
};

/// What one rank says of itself. Sent as bytes between processes of one job.
struct rank_summary {
  int rank = 0;
  int num_rows = 0;
  int num_usage_rows = 0;
  double seconds = 0;  ///< from the end of MPI_Init to the beginning of MPI_Finalize
  double ns_per_tick = 0;
  std::uint64_t allocations = 0;   ///< live ones known to the cache
  std::uint64_t cache_bytes = 0;   ///< memory of the cache
  std::uint64_t staged_bytes = 0;  ///< copied between device and host by stage
  bool watch_complete = false;     ///< every allocation was seen, so that unknown memory is the host's
  bool has_driver = false;
  query_cost in_loop;                ///< measured at the start, by the modes kinds and inject together
  char incomplete_because[64] = "";  ///< the first call after which it was not
  char host[64] = "";
};

/// The run is timed from the first call of begin_run() to the first of end_run().
void begin_run();
void end_run();

/// This rank's rows, at most `room` of them (num_routines + 1 is enough), and its summary but for rank and host.
int collect_rows(routine_row* rows, int room);
rank_summary summarize();

/// Of all ranks, one after another, as many rows for each as its summary says. Usage is merged.
struct gathered {
  int num_ranks;
  const rank_summary* summaries;
  const routine_row* rows;
  int num_usage_rows;
  const usage_row* usage;
};
void write_report(const gathered& all);

/// When the process ends without a report: this rank's alone, JSON to <output>.<rank>.
void write_report_of_this_rank();

/// These processes were started by others, whose environment, and so whose file, they have: theirs is
/// <output>.spawned.<process id>, of rank 0.
void report_apart();

/// No report will be written any more by write_report_of_this_rank().
void report_is_done();

}  // namespace imbrex::sessions
