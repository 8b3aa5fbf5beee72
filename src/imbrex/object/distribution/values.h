#pragma once

#include <span>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/object/distribution/distributed.h"
#include "imbrex/object/distribution/task_graph.h"

namespace imbrex {

/// `const std::vector<double> norm = co_await imbrex::values(g, total(0))`, by all ranks: the elements of an object,
/// the same on each, behind all tasks submitted by now: for loops whose end depends on data. Throws what a task threw
/// that should have written them.
template <class T>
task<std::vector<T>> values(task_graph& g, distributed_ref<T> x) {
  const auto look = [](std::span<const T>) {};
  for (rank_id r = 0; r < g.num_ranks(); ++r) {
    const graph_task_options there{.name = "values", .rank = r};
    g.submit(there, look, x);
  }
  auto access = x.here().host(access_mode::read);
  const auto view = co_await access;
  co_return std::vector<T>(view.begin(), view.end());
}

}  // namespace imbrex
