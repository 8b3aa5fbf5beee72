#pragma once

#include "imbrex/async/task.h"
#include "imbrex/object/distribution/task_graph.h"

namespace imbrex {

/// `co_await imbrex::barrier(g)`, by every rank: until all that all ranks have submitted by now is over. For times;
/// tasks do not need it.
task<> barrier(task_graph& g);

}  // namespace imbrex
