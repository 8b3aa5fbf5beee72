#include "tree/exploration.h"

namespace uts {

void explore(const tree& t, std::vector<node>& stack, std::int64_t most_nodes, tree_counts& counts) {
  tree_counts here;
  while (!stack.empty() && here.nodes < most_nodes) {
    const node n = stack.back();
    stack.pop_back();
    const int children = t.num_children(n);
    for (int i = 0; i < children; ++i) stack.push_back(t.child(n, i));
    here.add({1, children == 0 ? 1 : 0, n.depth});
  }
  counts.add(here);
}

tree_counts explore_all(const tree& t, const std::function<void(std::int64_t)>& told) {
  constexpr std::int64_t at_once = 1 << 16;
  tree_counts counts;
  std::vector<node> stack{t.root()};
  while (!stack.empty()) {
    explore(t, stack, at_once, counts);
    told(counts.nodes);
  }
  return counts;
}

}  // namespace uts
