#include "gpu/gpu_around.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "imbrex/base/error.h"

namespace md {
namespace {

constexpr double atoms_of_brick = 0.92 * gpu_brick_threads;  // on average: few have more than there are threads

bool is_cut(const decomposition& boxes, int d) { return boxes.boxes()[d] > 1; }

void check_width(const decomposition& boxes) {
  for (int d = 0; d < 3; ++d) {
    const double width = boxes.lengths()[d] / boxes.boxes()[d];
    if (!is_cut(boxes, d) || width >= boxes.reach()) continue;
    throw imbrex::usage_error(
        fmt::format("{} boxes in {} are {:.4g} wide, but atoms act over {} (cutoff and skin), on a GPU to the next box "
                    "only: use fewer chares (-c, --odf) or ranks, or --device host",
                    boxes.boxes()[d], "xyz"[d], width, boxes.reach()));
  }
}

struct target {
  box_index box, offset;
  unsigned image;
};

std::vector<target> targets_around(const decomposition& boxes, const box_index& where) {
  std::vector<target> all;
  for (int k = 0; k < 27; ++k) {
    const box_index offset{k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
    bool leads_elsewhere = k != 13;
    for (int d = 0; d < 3; ++d) leads_elsewhere = leads_elsewhere && (offset[d] == 0 || is_cut(boxes, d));
    if (!leads_elsewhere) continue;
    const auto n = boxes.at_offset(where, offset);
    all.push_back({n.box, offset, static_cast<unsigned>(((n.shift[2] + 1) * 3 + n.shift[1] + 1) * 3 + n.shift[0] + 1)});
  }
  std::ranges::sort(all, {}, [&](const target& t) { return std::pair(boxes.number_of(t.box), t.image); });
  return all;
}

}  // namespace

gpu_around::gpu_around(const decomposition& all, const box_index& where) {
  check_width(all);
  for (const target& t : targets_around(all, where)) {
    if (boxes.empty() || boxes.back() != t.box) {
      boxes.push_back(t.box);
      first.push_back(targets.num);
    }
    for (int d = 0; d < 3; ++d) targets.offset[targets.num][d] = static_cast<signed char>(t.offset[d]);
    targets.image[targets.num] = static_cast<unsigned char>(t.image);
    ++targets.num;
  }
  first.push_back(targets.num);
}

int gpu_around::place_of(const box_index& who) const {
  return static_cast<int>(std::ranges::find(boxes, who) - boxes.begin());
}

gpu_bricks bricks_of(const decomposition& boxes, const box_index& where, double density) {
  gpu_bricks b;
  b.reach = boxes.reach();
  const double wanted = std::max(std::cbrt(atoms_of_brick / density), b.reach);
  for (int d = 0; d < 3; ++d) {
    const int here = where[d], num = boxes.boxes()[d];
    const double period = boxes.lengths()[d];
    b.length[d] = period;
    b.cut[d] = is_cut(boxes, d);
    b.lo[d] = boxes.begin_of(d, here);
    b.hi[d] = boxes.begin_of(d, here + 1);
    b.far_lo[d] = here > 0 ? boxes.begin_of(d, here - 1) : boxes.begin_of(d, num - 1) - period;
    b.far_hi[d] = here + 1 < num ? boxes.begin_of(d, here + 2) : boxes.begin_of(d, 1) + period;
    const double width = b.hi[d] - b.lo[d];
    b.num[d] = std::max(1, static_cast<int>(std::lround(width / wanted)));
    while (b.num[d] > 1 && width / b.num[d] < b.reach) --b.num[d];
    b.side[d] = width / b.num[d];
  }
  return b;
}

brick_order::brick_order(const gpu_bricks& b) {
  const auto is_outer = [&b](int d, std::int64_t place) {
    // Where a brick is as wide as atoms act, to the last bits, rounding says in which of two an atom is.
    const std::int64_t layers = b.side[d] > b.reach * (1 + 1e-9) ? 1 : 2;
    return b.cut[d] && (place < layers || place >= b.num[d] - layers);
  };
  std::vector<std::uint32_t> inner;
  for (std::int64_t k = 0; k < b.count(); ++k) {
    const bool outer =
        is_outer(0, k % b.num[0]) || is_outer(1, k / b.num[0] % b.num[1]) || is_outer(2, k / b.num[0] / b.num[1]);
    (outer ? bricks : inner).push_back(static_cast<std::uint32_t>(k));
  }
  num_outer = static_cast<std::uint32_t>(bricks.size());
  bricks.insert(bricks.end(), inner.begin(), inner.end());
}

}  // namespace md
