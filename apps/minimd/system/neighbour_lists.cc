#include "system/neighbour_lists.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace md {
namespace {

constexpr int bins_in_reach = 2;  // bins are half the reach wide
constexpr double margin = 1 + 1e-9;

}  // namespace

void neighbour_lists::put_into_bins(const atom_arrays& atoms, const vector3& lo, const vector3& hi) {
  for (int d = 0; d < 3; ++d) {
    bins_begin_[d] = lo[d] - reach_ * margin;
    const double extent = hi[d] - lo[d] + 2 * reach_ * margin;
    num_bins_[d] = std::max(1, static_cast<int>(extent / (reach_ * margin / bins_in_reach)));
    per_bin_[d] = num_bins_[d] / extent;
  }
  const auto bin = [this](int d, double x) {
    return std::clamp(static_cast<int>((x - bins_begin_[d]) * per_bin_[d]), 0, num_bins_[d] - 1);
  };
  const std::int32_t n = atoms.num_all();
  bin_of_.resize(static_cast<std::size_t>(n));
  bin_first_.assign(static_cast<std::size_t>(num_bins_[0]) * num_bins_[1] * num_bins_[2] + 1, 0);
  for (std::int32_t i = 0; i < n; ++i) {
    const vector4& p = atoms.x[i];
    bin_of_[i] = (bin(2, p.z) * num_bins_[1] + bin(1, p.y)) * num_bins_[0] + bin(0, p.x);
    ++bin_first_[bin_of_[i] + 1];
  }
  for (std::size_t b = 1; b < bin_first_.size(); ++b) bin_first_[b] += bin_first_[b - 1];
  in_bins_.resize(static_cast<std::size_t>(n));
  bin_x_.resize(static_cast<std::size_t>(n));
  bin_y_.resize(static_cast<std::size_t>(n));
  bin_z_.resize(static_cast<std::size_t>(n));
  std::vector<std::int32_t> next(bin_first_.begin(), bin_first_.end() - 1);
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t at = next[bin_of_[i]]++;
    in_bins_[at] = i;
    bin_x_[at] = atoms.x[i].x;
    bin_y_[at] = atoms.x[i].y;
    bin_z_[at] = atoms.x[i].z;
  }
}

// A pair of own atoms is the first one's. Of a pair with a ghost both boxes must come to opposite answers: a coordinate
// of the ghost that was shifted by the period lies beyond the box for one and before it for the other, the others are
// the same numbers for both.
bool neighbour_lists::is_ours(const atom_arrays& atoms, std::int32_t i, std::int32_t j) const {
  if (rule_.style == list_style::full) return i != j;
  if (j < atoms.num_own) return j > i;
  if (!rule_.ghost_newton || rule_.half_shell) return true;
  const vector4 &a = atoms.x[i], &b = atoms.x[j];
  if (a.z != b.z) return b.z > a.z;
  if (a.y != b.y) return b.y > a.y;
  return b.x > a.x;
}

std::int32_t* neighbour_lists::list_of(const atom_arrays& atoms, std::int32_t i) {
  const vector4 p = atoms.x[i];
  const std::int32_t b = bin_of_[i];
  const int bx = b % num_bins_[0], by = b / num_bins_[0] % num_bins_[1], bz = b / num_bins_[0] / num_bins_[1];
  const int x0 = std::max(0, bx - bins_in_reach), x1 = std::min(num_bins_[0] - 1, bx + bins_in_reach);
  bin_rows rows{.x = bin_x_.data(), .y = bin_y_.data(), .z = bin_z_.data(), .index = in_bins_.data()};
  for (int z = std::max(0, bz - bins_in_reach); z <= std::min(num_bins_[2] - 1, bz + bins_in_reach); ++z) {
    for (int y = std::max(0, by - bins_in_reach); y <= std::min(num_bins_[1] - 1, by + bins_in_reach); ++y) {
      const std::int32_t row = (z * num_bins_[1] + y) * num_bins_[0];
      rows.first[rows.num] = bin_first_[row + x0];
      rows.last[rows.num++] = bin_first_[row + x1 + 1];
    }
  }
  const std::size_t needed = num_entries_ + static_cast<std::size_t>(rows.size()) + 2 * lanes;
  if (entries_.size() < needed) entries_.resize(needed + needed / 2);
  std::int32_t* const begin = entries_.data() + num_entries_;
  std::int32_t* end = near_(rows, p.x, p.y, p.z, reach_ * reach_, begin);
  end = std::remove_if(begin, end, [&](std::int32_t j) { return !is_ours(atoms, i, j); });
  if (!rule_.by_id) return end;
  std::sort(begin, end, [&](std::int32_t j, std::int32_t k) {
    if (atoms.id[j] != atoms.id[k]) return atoms.id[j] < atoms.id[k];
    const vector4 &s = atoms.x[j], &t = atoms.x[k];  // images of one atom
    return s.x != t.x ? s.x < t.x : s.y != t.y ? s.y < t.y : s.z < t.z;
  });
  return end;
}

void neighbour_lists::build(const atom_arrays& atoms, const vector3& lo, const vector3& hi) {
  put_into_bins(atoms, lo, hi);
  first_.resize(static_cast<std::size_t>(atoms.num_own) + 1);
  num_entries_ = 0;
  num_pairs_ = 0;
  for (std::int32_t i = 0; i < atoms.num_own; ++i) {
    first_[i] = static_cast<std::int64_t>(num_entries_);
    const std::int32_t* const end = list_of(atoms, i);
    const auto length = static_cast<std::size_t>(end - (entries_.data() + num_entries_));
    num_entries_ += length;
    num_pairs_ += static_cast<std::int64_t>(length);
    while (num_entries_ % lanes != 0) entries_[num_entries_++] = atoms.num_all();
  }
  first_[atoms.num_own] = static_cast<std::int64_t>(num_entries_);
}

std::uint64_t neighbour_lists::bytes() const {
  return entries_.capacity() * sizeof(std::int32_t) + first_.capacity() * sizeof(std::int64_t) +
         (bin_first_.capacity() + bin_of_.capacity() + in_bins_.capacity()) * sizeof(std::int32_t) +
         (bin_x_.capacity() + bin_y_.capacity() + bin_z_.capacity()) * sizeof(double);
}

}  // namespace md
