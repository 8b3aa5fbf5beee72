#include "chares/searcher.h"

#include <algorithm>

namespace uts {

ix::readonly<ix::array_proxy<searcher>> searchers;

void searcher::search(const node& first, const std::vector<node>& others) {
  stack_.push_back(first);
  stack_.insert(stack_.end(), others.begin(), others.end());
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
    std::vector<node> others;
    others.reserve((nodes - i - 1) / chares);
    for (std::size_t j = i + chares; j < nodes; j += chares) others.push_back(stack_[j]);
    rt().create<explorer>(stack_[i], std::move(others));
  }
  stack_.clear();
}

}  // namespace uts
