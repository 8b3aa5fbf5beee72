#pragma once

#include <utility>
#include <vector>

#include "imbrex/pe/scheduler.h"

namespace imbrex {

/// One PE's part of a sum over all PEs, which is gathered up the spanning tree of what asked for it: what this PE has,
/// and what the PEs below it have sent. `T` has `+=`. One sum at a time. For the PE's thread.
template <class T>
class tree_sum {
 public:
  /// This PE's own, before any of those below.
  void begin(const scheduler& pe, pe_id root, T own) {
    std::vector<pe_id> below;
    pe.tree().children_of(pe.id(), root, below);
    above_ = pe.tree_parent(root);
    num_left_ = below.size();
    sum_ = std::move(own);
  }
  /// Of a PE below, with all below that.
  void add(T&& part) {
    sum_ += std::move(part);
    --num_left_;
  }
  /// Whether all below have come: then the sum goes to `above`, or, on the root, is that of all.
  bool is_complete() const { return num_left_ == 0; }
  /// `no_pe` on the root.
  pe_id above() const { return above_; }
  T take() { return std::move(sum_); }

 private:
  pe_id above_ = no_pe;
  std::size_t num_left_ = 0;
  T sum_{};
};

}  // namespace imbrex
