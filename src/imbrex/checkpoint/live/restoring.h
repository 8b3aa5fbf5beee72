#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/checkpoint/checkpoint_options.h"
#include "imbrex/checkpoint/live/record_source.h"
#include "imbrex/object/collection/chare_pe.h"

/// How a job begins with what a checkpoint has, whatever its numbers of ranks, PEs and GPUs.
namespace imbrex {

/// What `o.restart` names: a checkpoint, or the newest whole one of a folder, of which it warns what is newer and
/// broken. Empty: it says "auto" and there is none. Throws `snapshot_error`.
std::string checkpoint_to_restart_from(const checkpoint_options& o);

/// From PE 0, before anything else is sent: all PEs take what is theirs of that checkpoint. With as many PEs as wrote
/// it, elements live where they lived, else at home. When awaited all have done so; the bytes are those of the
/// program's object. Throws `snapshot_error`, or what a PE could not do.
task<std::vector<std::byte>> restore_job(checkpoint_place from);

}  // namespace imbrex
