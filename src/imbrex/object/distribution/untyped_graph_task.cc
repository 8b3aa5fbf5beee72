#include "imbrex/object/distribution/untyped_graph_task.h"

#include <span>
#include <utility>

namespace imbrex {

namespace {

/// `start(options, uses)` where the task runs.
template <class Start>
hetero_task submit_somewhere(task_graph& g, const graph_task_options& o, const std::vector<untyped_graph_use>& uses,
                             Start start) {
  std::vector<detail::graph_use> shared;
  for (const untyped_graph_use& u : uses) shared.push_back({&u.object.shared(), u.mode});
  std::vector<rank_id> senders(uses.size());
  const auto no_reductions = [](rank_id) {};
  return g.submit_uses(o, shared, senders, {}, no_reductions, [&](const task_options& here) {
    std::vector<untyped_use> mine;
    for (const untyped_graph_use& u : uses) mine.push_back({u.object.here().data(), u.mode});
    return start(here, std::move(mine));
  });
}

}  // namespace

hetero_task submit_untyped(task_graph& g, const graph_task_options& o, std::uint8_t where,
                           const std::vector<untyped_graph_use>& uses, std::function<void(const untyped_call&)> f) {
  return submit_somewhere(g, o, uses, [&](const task_options& here, std::vector<untyped_use> mine) {
    return submit_untyped(g.domain(), here, where, std::move(mine), std::move(f));
  });
}

hetero_task submit_untyped(task_graph& g, const graph_task_options& o, const kernel_source& k,
                           const launch_shape& shape, const std::vector<untyped_graph_use>& uses,
                           std::vector<std::vector<std::byte>> values) {
  return submit_somewhere(g, o, uses, [&](const task_options& here, std::vector<untyped_use> mine) {
    return submit_untyped(g.domain(), here, k, shape, std::move(mine), std::move(values));
  });
}

}  // namespace imbrex
