#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "imbrex/hetero/submission/untyped_task.h"
#include "imbrex/object/distribution/distributed.h"
#include "imbrex/object/distribution/task_graph.h"

/// Tasks of a graph over all ranks whose parameters are known when the program runs, as `submit_untyped` of one PE's.
namespace imbrex {

struct untyped_graph_use {
  distributed_ref<std::byte> object;
  access_mode mode;
};

/// `task_graph::submit` of a function of what it is called with. By all ranks; `f` is called on one. Gives the task
/// there, an empty handle elsewhere. Throws as `task_graph::submit` and `submit_untyped` do.
hetero_task submit_untyped(task_graph& g, const graph_task_options& o, std::uint8_t where,
                           const std::vector<untyped_graph_use>& uses, std::function<void(const untyped_call&)> f);
/// The same of a kernel.
hetero_task submit_untyped(task_graph& g, const graph_task_options& o, const kernel_source& k,
                           const launch_shape& shape, const std::vector<untyped_graph_use>& uses,
                           std::vector<std::vector<std::byte>> values);

}  // namespace imbrex
