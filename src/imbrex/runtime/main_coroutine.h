#pragma once

#include <string>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/checkpoint/memory/rank_memory.h"
#include "imbrex/runtime/runtime.h"

namespace imbrex::detail {

/// The main chare's coroutine: of the program from the start, or once what a checkpoint has is there again. In the
/// first run of a job that is the one that `o.restart` names; later the one in memory, else the newest of files, else
/// none. `memory` may be null.
task<int> main_coroutine(runtime& rt, const main_program& main, std::vector<std::string> arguments,
                         const checkpoint_options& o, rank_memory* memory);

}  // namespace imbrex::detail
