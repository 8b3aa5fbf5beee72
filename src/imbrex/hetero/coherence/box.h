#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace imbrex {

/// Bytes of an object: along x bytes of a row, along y rows, along z planes. `end` is not in it. An object without a
/// shape is one row.
struct box {
  std::array<std::uint64_t, 3> begin{};
  std::array<std::uint64_t, 3> end{};

  std::uint64_t extent(std::size_t axis) const { return end[axis] - begin[axis]; }
  std::uint64_t bytes() const { return extent(0) * extent(1) * extent(2); }
  friend bool operator==(const box&, const box&) = default;
};

/// Whether they have an element in common.
inline bool overlap(const box& a, const box& b) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (a.begin[i] >= b.end[i] || b.begin[i] >= a.end[i]) return false;
  }
  return true;
}
/// Whether all of `inner` is in `outer`.
inline bool contains(const box& outer, const box& inner) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (inner.begin[i] < outer.begin[i] || inner.end[i] > outer.end[i]) return false;
  }
  return true;
}
/// Of two that overlap.
inline box intersection(const box& a, const box& b) {
  box both;
  for (std::size_t i = 0; i < 3; ++i) {
    both.begin[i] = std::max(a.begin[i], b.begin[i]);
    both.end[i] = std::min(a.end[i], b.end[i]);
  }
  return both;
}
/// Calls `f` for boxes that are together what `a` has outside `hole`, with which it overlaps: six at most.
template <class F>
void for_each_outside(box a, const box& hole, F f) {
  for (std::size_t i = 3; i-- > 0;) {
    if (a.begin[i] < hole.begin[i]) {
      box before = a;
      before.end[i] = hole.begin[i];
      f(before);
      a.begin[i] = hole.begin[i];
    }
    if (a.end[i] > hole.end[i]) {
      box behind = a;
      behind.begin[i] = hole.end[i];
      f(behind);
      a.end[i] = hole.end[i];
    }
  }
}
/// Whether two boxes that do not overlap are one box together, which is then in `a`.
inline bool join(box& a, const box& b) {
  for (std::size_t i = 0; i < 3; ++i) {
    bool alike = true;
    for (std::size_t k = 0; k < 3; ++k) alike &= k == i || (a.begin[k] == b.begin[k] && a.end[k] == b.end[k]);
    if (!alike || (a.end[i] != b.begin[i] && b.end[i] != a.begin[i])) continue;
    a.begin[i] = std::min(a.begin[i], b.begin[i]);
    a.end[i] = std::max(a.end[i], b.end[i]);
    return true;
  }
  return false;
}

}  // namespace imbrex
