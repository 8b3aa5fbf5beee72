#pragma once

#include <vector>

#include "imbrex/base/ids.h"

namespace imbrex {

/// A spanning tree of all PEs, rooted at any. Ranks form a tree of their own, so that each message between ranks serves
/// a whole process; the first PE of each rank (on the root's rank: the root) passes it on to the other PEs of its
/// process. Computed, not stored.
class pe_tree {
 public:
  pe_tree(int num_ranks, int pes_per_rank) : num_ranks_(num_ranks), pes_per_rank_(pes_per_rank) {}

  /// The PE above `pe`; `no_pe` for the root itself.
  pe_id parent_of(pe_id pe, pe_id root) const;
  /// The PEs below `pe`.
  void children_of(pe_id pe, pe_id root, std::vector<pe_id>& children) const;

 private:
  static constexpr int arity = 4;
  int num_ranks_;
  int pes_per_rank_;
};

}  // namespace imbrex
