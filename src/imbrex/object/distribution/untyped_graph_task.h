#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "imbrex/hetero/submission/own_operation.h"
#include "imbrex/hetero/submission/untyped_reduction.h"
#include "imbrex/hetero/submission/untyped_task.h"
#include "imbrex/object/distribution/distributed.h"
#include "imbrex/object/distribution/task_graph.h"

/// Tasks of a graph over all ranks whose parameters are known when the program runs, as `submit_untyped` of one PE's.
namespace imbrex {

/// That a task reduces into an object, of such numbers (`reduce`): it runs where its other objects say.
struct untyped_graph_reduction {
  number_type numbers = number_type::float64;
  element_operation op = element_operation::sum;
  std::size_t parts = 8;  ///< on each rank
  /// If any, the program's own, and no numbers: one on each rank, which `is` the others there where it is here.
  std::shared_ptr<const own_operation> own = {};

  /// Whether what tasks reduce so and so may come together in one part.
  bool is(const untyped_graph_reduction& other) const {
    if ((own == nullptr) != (other.own == nullptr) || parts != other.parts) return false;
    return own != nullptr ? own->is(*other.own) : numbers == other.numbers && op == other.op;
  }
};

struct untyped_graph_use {
  distributed_ref<std::byte> object;
  access_mode mode;
  std::optional<untyped_graph_reduction> reduces = {};  ///< then the mode means nothing
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
