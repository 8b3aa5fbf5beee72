#include "chares/searcher.h"

#include <algorithm>

namespace uts {

ix::readonly<ix::array_proxy<searcher>> searchers;

void searcher::search(const node* first, std::size_t count) {
  stack_.assign(first, first + count);
  explore(tree_, stack_, plan_.grain, share_.counts);
  ++share_.chares;
  if (!stack_.empty()) give_away();
  if (shown_ != nullptr) shown_->update(share_.counts.nodes * num_pes());
}

/// Nodes near the root, which have more below them than others, lie together: each chare gets every n-th.
void searcher::give_away() {
  const std::size_t nodes = stack_.size();
  const std::size_t chares = plan_.split == 0 ? nodes : std::min(nodes, static_cast<std::size_t>(plan_.split));
  for (std::size_t i = 0; i < chares; ++i) {
    if (i + chares >= nodes) {
      rt().create<explorer>(stack_[i]);
      continue;
    }
    std::vector<node> part;
    part.reserve((nodes - i + chares - 1) / chares);
    for (std::size_t j = i; j < nodes; j += chares) part.push_back(stack_[j]);
    rt().create<explorer>(std::move(part));
  }
  stack_.clear();
}

}  // namespace uts
