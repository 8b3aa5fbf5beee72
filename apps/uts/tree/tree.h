#pragma once

#include <cstdint>
#include <vector>

#include "tree/random_stream.h"
#include "tree/tree_parameters.h"

namespace uts {

/// A node has at most so many children; the roots of binomial trees, and balanced trees, are exempt.
inline constexpr int most_children = 100;

/// All there is of a node. Travels as bytes.
struct node {
  stream_state state;
  std::int32_t depth = 0;  ///< the root's is 0
};

/// A tree that exists nowhere: from a node it tells how many children there are, and makes them. Trees of equal
/// parameters are the same, node for node, on any machine whose logarithms agree to the last bits. Any thread.
class tree {
 public:
  explicit tree(const tree_parameters& p);

  node root() const { return {root_state(parameters_.seed), 0}; }
  int num_children(const node& n) const;
  /// 0 <= number < num_children(parent)
  node child(const node& parent, int number) const {
    return {child_state(parent.state, static_cast<std::uint32_t>(number)), parent.depth + 1};
  }

 private:
  int binomial(const node& n) const;
  int geometric(const node& n) const;
  double log_of_more(std::int32_t depth) const;

  tree_parameters parameters_;
  std::vector<double> log_of_more_;  ///< [depth], as far as it goes
};

}  // namespace uts
