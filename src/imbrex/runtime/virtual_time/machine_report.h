#pragma once

#include <string>

#include "imbrex/runtime/virtual_time/virtual_job.h"

namespace imbrex::detail {

/// Throws `config_error` where `--imbrex-machine-report` names a file that cannot be written; empty: none is wanted.
void check_machine_report(const std::string& file);
/// Writes it: what PEs, GPUs and network did, as JSON. Times are virtual seconds, of all PEs or GPUs together; `took`:
/// seconds here.
void write_machine_report(virtual_job& job, double took);

}  // namespace imbrex::detail
