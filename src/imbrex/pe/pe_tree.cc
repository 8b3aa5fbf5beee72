#include "imbrex/pe/pe_tree.h"

namespace imbrex {

pe_id pe_tree::parent_of(pe_id pe, pe_id root) const {
  const int p = pes_per_rank_;
  const int rank = pe / p;
  const int root_rank = root / p;
  const pe_id leader = rank == root_rank ? root : rank * p;
  if (pe != leader) {
    const int place = (pe - leader + p) % p;
    return rank * p + (leader - rank * p + (place - 1) / arity) % p;
  }
  const int place = (rank - root_rank + num_ranks_) % num_ranks_;
  if (place == 0) return no_pe;
  const int above = ((place - 1) / arity + root_rank) % num_ranks_;
  return above == root_rank ? root : above * p;
}

void pe_tree::children_of(pe_id pe, pe_id root, std::vector<pe_id>& children) const {
  children.clear();
  const int p = pes_per_rank_;
  const int rank = pe / p;
  const int root_rank = root / p;
  const pe_id leader = rank == root_rank ? root : rank * p;
  if (pe == leader) {
    const int place = (rank - root_rank + num_ranks_) % num_ranks_;
    for (int c = place * arity + 1; c <= place * arity + arity && c < num_ranks_; ++c)
      children.push_back((c + root_rank) % num_ranks_ * p);
  }
  const int place = (pe - leader + p) % p;
  for (int c = place * arity + 1; c <= place * arity + arity && c < p; ++c)
    children.push_back(rank * p + (leader - rank * p + c) % p);
}

}  // namespace imbrex
