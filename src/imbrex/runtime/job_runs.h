#pragma once

#include <memory>
#include <string>
#include <vector>

#include "imbrex/comm/transport.h"
#include "imbrex/runtime/options.h"
#include "imbrex/runtime/runtime.h"

/// A job in as many runs as it takes: when a rank is lost, or the number of PEs is to change, the run is taken down on
/// those that are left and another one begun in the same processes.
namespace imbrex::detail {

/// What all runs of a job are given.
struct job_to_run {
  const std::vector<std::string>& arguments;
  const std::string& command_line;
  const main_program& main;
};

/// All ranks in this process, over a loopback network each run. The job's exit code.
int run_in_one_process(const runtime_options& options, const job_to_run& job);

/// This process as one rank; `t` is null where there is no other, and another one after a run without some.
int run_in_processes(const runtime_options& options, std::unique_ptr<transport>& t, const job_to_run& job);

}  // namespace imbrex::detail
