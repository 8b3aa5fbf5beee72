// The steps of `domain` after which other atoms are its own and other atoms its ghosts.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "imbrex/base/error.h"
#include "system/domain.h"

namespace md {

void domain::wrap(std::int32_t i) {
  vector4& p = atoms_.x[i];
  double* const at[3] = {&p.x, &p.y, &p.z};
  for (int d = 0; d < 3; ++d) {
    const double length = model_.boxes.lengths()[d];
    double& x = *at[d];
    if (x < 0.0) x += length;
    if (x >= length) x -= length;
    if (x >= 0.0 && x < length) continue;
    throw imbrex::error(
        fmt::format("atom {} is lost: it is at ({}, {}, {}) with velocity ({}, {}, {}), more than the whole box away "
                    "from where it was at "
                    "the last reneighbouring: use a smaller time step",
                    atoms_.id[i], p.x, p.y, p.z, atoms_.v[i].x, atoms_.v[i].y, atoms_.v[i].z));
  }
}

std::size_t domain::neighbour_of(std::int32_t i, const box_index& owner) const {
  const auto found = std::ranges::find(neighbours_, owner);
  if (found != neighbours_.end()) return static_cast<std::size_t>(found - neighbours_.begin());
  const vector4& p = atoms_.x[i];
  throw imbrex::error(
      fmt::format("atom {} is lost: since the last reneighbouring it has gone from box ({}, {}, {}) to ({}, {}, {}) in "
                  "box ({}, {}, {}), "
                  "further than {}, over which atoms act: reneighbour more often, or use a smaller time step",
                  atoms_.id[i], where_[0], where_[1], where_[2], p.x, p.y, p.z, owner[0], owner[1], owner[2],
                  model_.boxes.reach()));
}

std::vector<atom_record> domain::own_atoms() const {
  std::vector<atom_record> all;
  all.reserve(static_cast<std::size_t>(atoms_.num_own));
  for (std::int32_t i = 0; i < atoms_.num_own; ++i) {
    const vector4 &x = atoms_.x[i], &v = atoms_.v[i];
    all.push_back({{x.x, x.y, x.z}, {v.x, v.y, v.z}, atoms_.id[i]});
  }
  return all;
}

std::vector<std::vector<atom_record>> domain::take_leavers() {
  std::vector<std::vector<atom_record>> leavers(neighbours_.size());
  std::int32_t kept = 0;
  for (std::int32_t i = 0; i < atoms_.num_own; ++i) {
    wrap(i);
    const vector4 &x = atoms_.x[i], &v = atoms_.v[i];
    const box_index owner = model_.boxes.owner(&x.x);
    if (owner != where_) {
      leavers[neighbour_of(i, owner)].push_back({{x.x, x.y, x.z}, {v.x, v.y, v.z}, atoms_.id[i]});
      continue;
    }
    atoms_.x[kept] = x;
    atoms_.v[kept] = v;
    atoms_.id[kept] = atoms_.id[i];
    ++kept;
  }
  atoms_.num_own = kept;
  atoms_.num_ghosts = 0;
  atoms_.v.resize(static_cast<std::size_t>(kept));
  close_arrays();
  return leavers;
}

void domain::sort() {
  std::array<std::int64_t, 3> bins{};
  for (int d = 0; d < 3; ++d)
    bins[d] = std::max<std::int64_t>(1, static_cast<std::int64_t>((hi_[d] - lo_[d]) / (0.5 * model_.boxes.reach())));
  const auto bin = [&](int d, double x) {
    const auto b = static_cast<std::int64_t>((x - lo_[d]) / (hi_[d] - lo_[d]) * static_cast<double>(bins[d]));
    return std::clamp<std::int64_t>(b, 0, bins[d] - 1);
  };
  const auto n = static_cast<std::size_t>(atoms_.num_own);
  std::vector<std::int32_t> first(static_cast<std::size_t>(bins[0] * bins[1] * bins[2]) + 1), place(n), order(n);
  for (std::size_t i = 0; i < n; ++i) {
    const vector4& p = atoms_.x[i];
    place[i] = static_cast<std::int32_t>((bin(2, p.z) * bins[1] + bin(1, p.y)) * bins[0] + bin(0, p.x));
    ++first[place[i] + 1];
  }
  for (std::size_t b = 1; b < first.size(); ++b) first[b] += first[b - 1];
  std::vector<std::int32_t> next(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < n; ++i) order[next[place[i]]++] = static_cast<std::int32_t>(i);
  for (std::size_t b = 0; b + 1 < first.size(); ++b)
    std::sort(order.begin() + first[b], order.begin() + first[b + 1],
              [this](std::int32_t i, std::int32_t j) { return atoms_.id[i] < atoms_.id[j]; });
  reorder(order);
}

void domain::reorder(const std::vector<std::int32_t>& order) {
  std::vector<vector4> moved;
  moved.reserve(order.size() + 1);
  for (std::vector<vector4>* all : {&atoms_.x, &atoms_.v}) {
    moved.clear();
    for (const std::int32_t i : order) moved.push_back((*all)[i]);
    all->swap(moved);
  }
  std::vector<std::int64_t> ids;
  ids.reserve(order.size());
  for (const std::int32_t i : order) ids.push_back(atoms_.id[i]);
  atoms_.id.swap(ids);
  close_arrays();
}

/// After own atoms, and before ghosts: the atom far away ends the positions.
void domain::close_arrays() {
  const auto all = static_cast<std::size_t>(atoms_.num_all());
  atoms_.id.resize(all);
  atoms_.x.resize(all + 1);
  atoms_.x[all] = far_away;
  atoms_.f.resize(all + 1);
}

void domain::forget_ghosts() {
  atoms_.num_ghosts = 0;
  for (link& l : links_) l.num_ghosts = 0;
  close_arrays();
}

void domain::choose_ghosts(int r) {
  const std::int32_t before_round = atoms_.num_all();
  for (int k = rounds_[r]; k < rounds_[r + 1]; ++k) {
    link& l = links_[k];
    if (model_.exchange == exchange_style::direct) {
      choose_for(l, 0, atoms_.num_own);
    } else if (l.after < 0) {
      choose_for(l, 0, before_round);
    } else {
      const link& from = links_[l.after];
      choose_for(l, from.first_ghost, from.first_ghost + from.num_ghosts);
    }
  }
}

/// Of atoms [first, last) those within reach of the box at the other end.
void domain::choose_for(link& l, std::int32_t first, std::int32_t last) {
  const double square = model_.boxes.reach() * model_.boxes.reach();
  l.sent.clear();
  if (!has_ghosts_there(static_cast<int>(&l - links_.data()))) return;
  for (std::int32_t i = first; i < last; ++i) {
    const vector4& p = atoms_.x[i];
    const double at[3] = {p.x + l.shift[0], p.y + l.shift[1], p.z + l.shift[2]};
    double distance = 0;
    for (int d = 0; d < 3; ++d) {
      const double gap = std::max({l.lo[d] - at[d], at[d] - l.hi[d], 0.0});
      distance += gap * gap;
    }
    if (distance < square) l.sent.push_back(i);
  }
}

void domain::pack_ghosts(int k, std::vector<double>& out) const {
  const link& l = links_[k];
  out.resize(4 * l.sent.size());
  double* to = out.data();
  for (const std::int32_t i : l.sent) {
    const vector4& p = atoms_.x[i];
    *to++ = p.x + l.shift[0];
    *to++ = p.y + l.shift[1];
    *to++ = p.z + l.shift[2];
    *to++ = std::bit_cast<double>(atoms_.id[i]);
  }
}

void domain::add_ghosts(int k, std::span<const double> in) {
  link& l = links_[k];
  l.first_ghost = atoms_.num_all();
  l.num_ghosts = static_cast<std::int32_t>(in.size() / 4);
  atoms_.num_ghosts += l.num_ghosts;
  close_arrays();
  for (std::int32_t n = 0; n < l.num_ghosts; ++n) {
    const double* from = in.data() + 4 * n;
    atoms_.x[l.first_ghost + n] = {from[0], from[1], from[2], 0};
    atoms_.id[l.first_ghost + n] = std::bit_cast<std::int64_t>(from[3]);
  }
}

void domain::build_lists() { lists_.build(atoms_, lo_, hi_); }

}  // namespace md
