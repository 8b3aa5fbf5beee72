#pragma once

/// What a program includes beside `imbrex/imbrex.h` for tasks on objects of several ranks: docs/tasks.md.
#include "imbrex/object/distribution/barrier.h"
#include "imbrex/object/distribution/distributed.h"
#include "imbrex/object/distribution/graph_reduction.h"
#include "imbrex/object/distribution/task_graph.h"
#include "imbrex/object/distribution/values.h"
#include "imbrex/runtime/run_graph.h"
