#pragma once

#include <string>

#include "output/run_facts.h"

/// What a run prints, in miniMD's manner. All texts end with a newline.
namespace md {

/// The settings, known before the run; each line begins with "# ".
std::string header_text(const run_facts& f);

/// "# Timestep T U P Time": what the numbers of row_text are.
std::string columns_text();

/// Temperature, potential energy and pressure with 17 digits, seconds with 3 decimals.
std::string row_text(const thermo_row& row);

/// Times and speed: two comments and miniMD's PERF_SUMMARY line, whose numbers have 6 decimals. `PEs` are those of a
/// rank, as miniMD's threads are. The last number is miniMD's t_extra, always 0.
std::string summary_text(const run_facts& f);

}  // namespace md
