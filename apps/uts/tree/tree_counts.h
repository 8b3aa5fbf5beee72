#pragma once

#include <algorithm>
#include <cstdint>

namespace uts {

/// What is counted of a tree, or of a part of it.
struct tree_counts {
  std::int64_t nodes = 0;
  std::int64_t leaves = 0;  ///< nodes without children
  std::int32_t depth = 0;   ///< of the deepest node

  void add(const tree_counts& other) {
    nodes += other.nodes;
    leaves += other.leaves;
    depth = std::max(depth, other.depth);
  }
  friend bool operator==(const tree_counts&, const tree_counts&) = default;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & nodes & leaves & depth;
  }
};

}  // namespace uts
