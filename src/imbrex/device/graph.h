#pragma once

#include <cstddef>

namespace imbrex {

/// Operations of one or more streams, captured once and then started as one (CUDA graphs; Choi et al. 2022, III-D2).
/// Made by `stream::capture`; started by `stream::run`. What the operations point to must live as long as the graph is
/// run.
class graph {
 public:
  virtual ~graph() = default;
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  /// How many operations it holds.
  virtual std::size_t num_operations() const = 0;

 protected:
  graph() = default;
};

}  // namespace imbrex
