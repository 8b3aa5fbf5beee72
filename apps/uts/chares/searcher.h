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
  std::int64_t grain = 1;  ///< as in `options`, as what follows
  int split = 0;
  bool deepest_first = true;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & tree & grain & split & deepest_first;
  }
};

/// One on each PE: what the chares that come to it share, which are the tree, memory for a stack, and the counts. So a
/// chare brings nothing but nodes, and leaves nothing behind.
class searcher : public ix::chare<searcher, ix::index1d> {
 public:
  explicit searcher(const search_plan& p) : plan_(p), tree_(p.tree) {}

  /// On this PE, in a chare: visits `first`, `others` and what is below them, up to the grain, and makes chares of what
  /// is left then.
  void search(const node& first, const std::vector<node>& others);

  /// Whether a chare searches when it is made: the runtime makes the newest first, so that few wait at a time. Else it
  /// sends itself a message, and searches when that has its turn.
  bool searches_at_once() const { return plan_.deepest_first; }

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

/// A part of the tree: some nodes and all below them. Searches it when its turn comes, and ends.
class explorer : public ix::chare<explorer> {
 public:
  explorer(const node& first, const std::vector<node>& others) {
    searcher& here = *searchers->local_branch();
    if (here.searches_at_once()) {
      here.search(first, others);
      destroy();
    } else {
      first_ = first;
      others_ = others;
      proxy().send<&explorer::search>();
    }
  }
  void search() {
    searchers->local_branch()->search(first_, others_);
    destroy();
  }

 private:
  node first_;
  std::vector<node> others_;
};

}  // namespace uts
