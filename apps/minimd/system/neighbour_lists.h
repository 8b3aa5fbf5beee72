#pragma once

#include <cstdint>
#include <vector>

#include "system/atoms.h"
#include "system/near_atoms.h"

namespace md {

/// Which pairs stand in lists.
struct list_rule {
  list_style style = list_style::full;
  bool ghost_newton = false;  ///< half lists: a pair with a ghost is one box's alone, which sends the force back
  bool by_id = false;         ///< each list in the order of ids, so that sums do not depend on the decomposition
  /// With `ghost_newton`: of two boxes only one has the other's atoms as ghosts, and so all pairs with them.
  bool half_shell = false;
};

/// The neighbours of each own atom of a box: indices of atoms closer than the cutoff and skin. Each list is filled up
/// with the atom far away to a multiple of `lanes`.
class neighbour_lists {
 public:
  static constexpr int lanes = 8;

  neighbour_lists(double reach, const list_rule& rule) : reach_(reach), rule_(rule) {}

  /// From the positions as they are; [lo, hi) is the box, without its ghosts.
  void build(const atom_arrays& atoms, const vector3& lo, const vector3& hi);

  const std::int32_t* begin_of(std::int32_t i) const { return entries_.data() + first_[i]; }
  /// Filled up.
  const std::int32_t* end_of(std::int32_t i) const { return entries_.data() + first_[i + 1]; }
  /// Pairs in lists, without what fills them up.
  std::int64_t num_pairs() const { return num_pairs_; }
  std::uint64_t bytes() const;

 private:
  void put_into_bins(const atom_arrays& atoms, const vector3& lo, const vector3& hi);
  /// Behind the lists so far; returns its end.
  std::int32_t* list_of(const atom_arrays& atoms, std::int32_t i);
  bool is_ours(const atom_arrays& atoms, std::int32_t i, std::int32_t j) const;

  double reach_;
  list_rule rule_;
  near_function near_ = best_near_function();
  std::vector<std::int64_t> first_;
  std::vector<std::int32_t> entries_;  // more than are used
  std::size_t num_entries_ = 0;
  std::int64_t num_pairs_ = 0;

  // Atoms in bins of half the reach, x fastest, each with its neighbours beside it in memory.
  std::array<int, 3> num_bins_{};
  vector3 bins_begin_{}, per_bin_{};
  std::vector<std::int32_t> bin_first_, bin_of_, in_bins_;
  std::vector<double> bin_x_, bin_y_, bin_z_;
};

}  // namespace md
