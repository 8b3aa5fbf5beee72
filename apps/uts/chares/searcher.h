#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <vector>

#include "node_progress.h"
#include "result.h"
#include "tree/exploration.h"

namespace uts {

namespace ix = imbrex;

/// What all searchers are given.
struct search_plan {
  tree_parameters tree;
  std::int64_t grain = 1;  ///< as in `options`
  int split = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & tree & grain & split;
  }
};

/// One on each PE: what the chares that come to it share, which are the tree, memory for a stack, and the counts. So a
/// chare brings nothing but nodes, and leaves nothing behind.
class searcher : public ix::chare<searcher, ix::index1d> {
 public:
  explicit searcher(const search_plan& p) : plan_(p), tree_(p.tree) {}

  /// On this PE, in a chare: visits `first[0]` to `first[count - 1]` and what is below them, up to the grain, and makes
  /// chares of what is left then.
  void search(const node* first, std::size_t count);

  /// The next `report` is of what is searched from now on.
  void begin() { share_ = {pe(), {}, 0}; }
  /// Contributes this PE's share of the search.
  void report() { contribute(std::vector{share_}, ix::concatenate); }

  /// From now on `shown` is told of a guess of how many nodes all PEs have visited; null: no more. It outlives that.
  void show_on(node_progress* shown) { shown_ = shown; }

 private:
  void give_away();

  search_plan plan_;
  tree tree_;
  std::vector<node> stack_;  ///< empty between chares
  pe_share share_;
  node_progress* shown_ = nullptr;
};

/// Known to all chares before the first is made.
extern ix::readonly<ix::array_proxy<searcher>> searchers;

/// A part of the tree: some nodes and all below them. Searches it while it is constructed, and ends.
class explorer : public ix::chare<explorer> {
 public:
  explicit explorer(const node& n) {
    searchers->local_branch()->search(&n, 1);
    destroy();
  }
  explicit explorer(const std::vector<node>& nodes) {
    searchers->local_branch()->search(nodes.data(), nodes.size());
    destroy();
  }
};

}  // namespace uts
