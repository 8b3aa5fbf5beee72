#pragma once

#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>
#include <vector>

#include "imbrex/async/when_all.h"
#include "imbrex/object/distribution/graph_chare.h"
#include "imbrex/runtime/runtime.h"

namespace imbrex {

/// `co_await imbrex::run_graph<&factor>(rt, n, tile)`: has the coroutine `task<R> factor(imbrex::task_graph& g, int n,
/// int tile)` run on the first PE of every rank, with copies of the arguments, and waits until all that it has
/// submitted on any rank is over. Gives what rank 0's gives (default constructible, serialisable). Throws what the
/// coroutine, or a task that it has submitted, threw on some rank; `usage_error` when two ranks have submitted
/// different tasks. From any chare; several at a time are several graphs.
template <auto F, class... A>
auto run_graph(runtime& rt, A... arguments) -> task<typename detail::graph_result<F>::type> {
  using member = detail::graph_chare<F>;
  using R = typename detail::graph_result<F>::type;
  const auto ranks = rt.template create_node_group<member>();
  using call = decltype(ranks[0].template call<&member::run>(arguments...));
  std::vector<call> calls;
  calls.reserve(static_cast<std::size_t>(rt.num_ranks()));
  for (int r = 0; r < rt.num_ranks(); ++r) calls.push_back(ranks[r].template call<&member::run>(arguments...));
  std::exception_ptr failure;
  std::vector<detail::result_of<call>> results;
  try {
    auto all = when_all(std::move(calls));
    results = co_await std::move(all);
  } catch (...) {
    failure = std::current_exception();
  }
  // After a failure something may still be on its way between ranks: they stay.
  if (failure) std::rethrow_exception(failure);
  for (int r = 0; r < rt.num_ranks(); ++r) ranks[r].template send<&member::destroy>();
  for (std::size_t r = 1; r < results.size(); ++r) {
    detail::check_same_graph(results[0].digest, results[r].digest, static_cast<rank_id>(r));
  }
  if constexpr (!std::is_void_v<R>) co_return std::move(results.front().result);
}

}  // namespace imbrex
