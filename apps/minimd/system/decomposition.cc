#include "system/decomposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "imbrex/base/error.h"

namespace md {
namespace {

/// A little more than nothing, so that rounding loses no box.
constexpr double rounding = 1 + 1e-12;

}  // namespace

decomposition::decomposition(const vector3& lengths, const box_index& boxes, double reach)
    : lengths_(lengths), boxes_(boxes), reach_(reach) {
  for (int d = 0; d < 3; ++d) {
    if (!(lengths_[d] >= reach)) {
      throw imbrex::usage_error(
          fmt::format("the box is {} wide in {}, but atoms act over {} (cutoff and skin): use more cells", lengths_[d],
                      "xyz"[d], reach));
    }
    layers_[d] = static_cast<int>(std::ceil(reach * rounding * boxes_[d] / lengths_[d]));
  }
  for (int z = -layers_[2]; z <= layers_[2]; ++z)
    for (int y = -layers_[1]; y <= layers_[1]; ++y)
      for (int x = -layers_[0]; x <= layers_[0]; ++x)
        if ((x != 0 || y != 0 || z != 0) && within_reach({x, y, z})) offsets_.push_back({x, y, z});
}

bool decomposition::within_reach(const box_index& offset) const {
  double square = 0;
  for (int d = 0; d < 3; ++d) {
    const double gap = std::max(0, std::abs(offset[d]) - 1) * lengths_[d] / boxes_[d];
    square += gap * gap;
  }
  return square < reach_ * reach_ * rounding;
}

box_index decomposition::of_least_surface(const vector3& lengths, std::int64_t count) {
  box_index best{1, 1, static_cast<int>(count)};
  double least = INFINITY;
  for (std::int64_t x = 1; x <= count; ++x) {
    if (count % x != 0) continue;
    for (std::int64_t y = 1; y <= count / x; ++y) {
      if (count / x % y != 0) continue;
      const std::int64_t z = count / x / y;
      const double a = lengths[0] / static_cast<double>(x), b = lengths[1] / static_cast<double>(y),
                   c = lengths[2] / static_cast<double>(z);
      const double surface = a * b + b * c + c * a;
      if (surface >= least * (1 - 1e-9)) continue;
      least = surface;
      best = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
    }
  }
  return best;
}

int decomposition::owner(int d, double x) const {
  int i = std::clamp(static_cast<int>(x * boxes_[d] / lengths_[d]), 0, boxes_[d] - 1);
  while (i > 0 && x < begin_of(d, i)) --i;
  while (i + 1 < boxes_[d] && x >= begin_of(d, i + 1)) ++i;
  return i;
}

decomposition::neighbour decomposition::at_offset(const box_index& b, const box_index& offset) const {
  neighbour n{};
  for (int d = 0; d < 3; ++d) {
    const int unwrapped = b[d] + offset[d];
    const int turns = unwrapped >= 0 ? unwrapped / boxes_[d] : -((boxes_[d] - 1 - unwrapped) / boxes_[d]);
    n.box[d] = unwrapped - turns * boxes_[d];
    n.shift[d] = -turns;
  }
  return n;
}

box_index decomposition::offset_between(const box_index& from, const box_index& to) const {
  box_index o{};
  for (int d = 0; d < 3; ++d) {
    o[d] = to[d] - from[d];
    if (2 * o[d] > boxes_[d]) o[d] -= boxes_[d];
    if (2 * o[d] < -boxes_[d]) o[d] += boxes_[d];
  }
  return o;
}

}  // namespace md
