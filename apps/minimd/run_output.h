#pragma once

#include <vector>

#include "options.h"
#include "output/dump.h"
#include "output/run_facts.h"
#include "system/domain.h"
#include "system/sums.h"

/// What a run prints and writes, whichever way it is run.
namespace md {

/// A box's own atoms, as files of atoms have them.
std::vector<dump_atom> dump_atoms(const domain& box);

/// Prints what was changed of what was asked for, and all settings.
void print_head(const options& o, const run_facts& f);

/// Checks before the run that what is to be written can be.
void check_outputs(const options& o);
/// What all boxes did, into `f`, whose rows are complete; times are means over so many threads.
void note_facts(run_facts& f, const block_facts& done, int num_threads);

/// Prints the summary and writes the reports.
void conclude(const options& o, const run_facts& f);

}  // namespace md
