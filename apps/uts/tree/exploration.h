#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tree/tree.h"
#include "tree/tree_counts.h"

namespace uts {

/// Visits nodes depth first, from the top of `stack`, until `most_nodes` are visited or none is left; adds them to
/// `counts`. What is known and not yet visited stays on the stack: nodes near the root at its bottom.
void explore(const tree& t, std::vector<node>& stack, std::int64_t most_nodes, tree_counts& counts);

/// The whole tree, in this thread. `told` is called now and then with how many nodes have been visited.
tree_counts explore_all(const tree& t, const std::function<void(std::int64_t)>& told);

}  // namespace uts
