#pragma once

#include <span>
#include <string_view>

#include "tree/tree_counts.h"
#include "tree/tree_parameters.h"

namespace uts {

/// A tree of the benchmark's list and what has been published of it, which is what a run must find.
struct named_tree {
  const char* name;
  tree_parameters parameters;
  tree_counts counts;
};

/// About 4 million nodes each (T1 to T5), 100 million (T1L to T3L), 1.6 billion (T1XL).
std::span<const named_tree> named_trees();

/// Throws usage_error that lists the names.
const named_tree& find_tree(std::string_view name);

/// The one that these parameters define, however they were given; null when it is none of them.
const named_tree* known_tree(const tree_parameters& p);

}  // namespace uts
