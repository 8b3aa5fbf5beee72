#pragma once

#include <string>

#include "output/run_facts.h"

namespace md {

/// All facts as JSON text. Field names are part of the interface: they are never renamed; `version` counts up where
/// what one of them means changes. Numbers read back as the same bits; one that is infinite or no number is null.
std::string report_json(const run_facts& f);

/// Finds out before the run whether the report can be written; throws usage_error with path, reason and remedy.
void check_report_writable(const std::string& path);

/// Writes report_json beside its final place and renames it, so that a failure leaves an older report as it was. Throws
/// usage_error where it cannot be opened, error where it is not taken.
void write_report(const std::string& path, const run_facts& f);

}  // namespace md
