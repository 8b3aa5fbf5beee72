#pragma once

#include "imbrex/runtime/options/options.h"
#include "imbrex/runtime/rank/job_to_run.h"

namespace imbrex::detail {

/// The job on the machine that `options.virtual_time` names: all ranks in this process, all of them on this thread, in
/// virtual time. Its exit code. Throws `config_error`, `not_built`.
int run_in_virtual_time(const runtime_options& options, const job_to_run& job);

}  // namespace imbrex::detail
