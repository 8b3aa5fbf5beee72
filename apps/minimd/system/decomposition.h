#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "problem.h"

namespace md {

using box_index = std::array<int, 3>;

/// The periodic box of the simulation, [0, length) in each direction, cut into equal boxes. All that is computed from
/// the same numbers is the same on every rank.
class decomposition {
 public:
  /// `reach`: how far atoms act, list skin included. Throws `usage_error` when the whole box is narrower than that.
  decomposition(const vector3& lengths, const box_index& boxes, double reach);

  /// So many boxes with the least surface; of equal ones the first in x, then y.
  static box_index of_least_surface(const vector3& lengths, std::int64_t count);

  const vector3& lengths() const { return lengths_; }
  const box_index& boxes() const { return boxes_; }
  std::int64_t num_boxes() const { return static_cast<std::int64_t>(boxes_[0]) * boxes_[1] * boxes_[2]; }
  double reach() const { return reach_; }

  /// Where box `i` begins in direction `d`; it ends where the next begins.
  double begin_of(int d, int i) const { return i * lengths_[d] / boxes_[d]; }
  /// Whose position `x`, in [0, length), is.
  int owner(int d, double x) const;
  box_index owner(const double* x) const { return {owner(0, x[0]), owner(1, x[1]), owner(2, x[2])}; }
  /// x fastest.
  std::int64_t number_of(const box_index& b) const {
    return (static_cast<std::int64_t>(b[2]) * boxes_[1] + b[1]) * boxes_[0] + b[0];
  }
  box_index box_at(std::int64_t number) const {
    return {static_cast<int>(number % boxes_[0]), static_cast<int>(number / boxes_[0] % boxes_[1]),
            static_cast<int>(number / boxes_[0] / boxes_[1])};
  }

  /// How far boxes lie whose atoms are within reach, in boxes.
  const std::array<int, 3>& layers() const { return layers_; }
  /// All offsets to boxes, periodic images of the same among them, whose atoms may be within reach, without {0, 0, 0};
  /// in one order for all boxes. `opposite(k)` is the place of minus the offset.
  const std::vector<box_index>& offsets() const { return offsets_; }
  int opposite(int k) const { return static_cast<int>(offsets_.size()) - 1 - k; }

  /// The box at `offset` from `b`, and by how many lengths what is in `b` has to be shifted to stand before it.
  struct neighbour {
    box_index box;
    std::array<int, 3> shift;
  };
  neighbour at_offset(const box_index& b, const box_index& offset) const;

  /// The shortest offset from one box to another.
  box_index offset_between(const box_index& from, const box_index& to) const;

 private:
  bool within_reach(const box_index& offset) const;

  vector3 lengths_;
  box_index boxes_;
  double reach_;
  std::array<int, 3> layers_{};
  std::vector<box_index> offsets_;
};

}  // namespace md
