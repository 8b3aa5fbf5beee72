#pragma once

#include <ctime>
#include <iosfwd>
#include <string>

#include "output/run_facts.h"

namespace md {

/// The report in miniMD's layout: run_configuration, thermodynamic_output, time. Valid YAML, where miniMD's is none:
/// the timesteps are a list, texts are quoted, sizes are lists. Numbers have 17 digits. Only the keys that mean
/// something here are there; what imbrex adds (chares, odf, device, ...) ends run_configuration. `Conservation` is
/// miniMD's measure, (1.5 T + U) over that of the first row, in metal units with Boltzmann's constant.
void write_yaml(std::ostream& out, const run_facts& f);

/// The same into a file, which it replaces. Throws usage_error where it cannot be opened, error where it is not taken.
void write_yaml_file(const std::string& path, const run_facts& f);

/// miniMD-YYYY-MM-DD-hh-mm-ss.yaml, in local time.
std::string yaml_file_name(std::time_t when);

}  // namespace md
