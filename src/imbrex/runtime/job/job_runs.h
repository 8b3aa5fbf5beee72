#pragma once

#include <memory>

#include "imbrex/comm/transport.h"
#include "imbrex/runtime/options/options.h"
#include "imbrex/runtime/rank/job_to_run.h"

/// A job in as many runs as it takes: when a rank is lost, or the number of PEs is to change, the run is taken down on
/// those that are left and another one begun in the same processes.
namespace imbrex::detail {

/// All ranks in this process, over a loopback network each run. The job's exit code.
int run_in_one_process(const runtime_options& options, const job_to_run& job);

/// This process as one rank; `t` is null where there is no other, and another one after a run without some.
int run_in_processes(const runtime_options& options, std::unique_ptr<transport>& t, const job_to_run& job);

}  // namespace imbrex::detail
