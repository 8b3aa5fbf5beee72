#include "field/deep_field.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace jacobi {

namespace {

bool is_open(const open_sides& open, face f) { return open[static_cast<std::size_t>(f)]; }

std::int64_t second_level_cache_doubles() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return (bytes > 0 ? bytes : 1 << 20) / static_cast<long>(sizeof(double));
}

/// So many rows of all the planes that are under way stay in the second-level cache, or nearly: more of them need it
/// less often for their edges.
std::int64_t rows_of_tile(std::int64_t pitch, int steps) {
  return std::max<std::int64_t>(3 * second_level_cache_doubles() / 2 / (2 * (steps + 2) * pitch), 4 * steps);
}

}  // namespace

deep_field::deep_field(extents size, int depth, const open_sides& open, double outside)
    : size_(size),
      depth_(depth),
      open_(open),
      begin_{is_open(open, face::xlo) ? depth : 0, is_open(open, face::ylo) ? depth : 0,
             is_open(open, face::zlo) ? depth : 0},
      whole_{begin_[0] + size.nx + (is_open(open, face::xhi) ? depth : 0),
             begin_[1] + size.ny + (is_open(open, face::yhi) ? depth : 0),
             begin_[2] + size.nz + (is_open(open, face::zhi) ? depth : 0)},
      pitch_(row_pitch(whole_.nx)) {
  for (aligned_array& f : fields_) f = aligned_array(whole_.nz * whole_.ny * pitch_);
  if (!std::ranges::all_of(open, [](bool o) { return o; })) {
    outside_plane_ = aligned_array(whole_.ny * pitch_);
    std::ranges::fill(outside_plane_.span(), outside);
    outside_ends_ = aligned_array(whole_.ny * whole_.nz);
    std::ranges::fill(outside_ends_.span(), outside);
  }
}

std::uint64_t deep_field::bytes_needed(extents size, int depth) {
  const extents whole{size.nx + 2 * depth, size.ny + 2 * depth, size.nz + 2 * depth};
  const std::int64_t field = row_pitch(whole.nx) * whole.ny * whole.nz;
  return static_cast<std::uint64_t>(2 * field + row_pitch(whole.nx) * whole.ny + whole.ny * whole.nz) * sizeof(double);
}

// ------------------------------------------------------------------------------------------------ halos

deep_field::part deep_field::inner(const direction& d) const {
  const auto along = [&](std::size_t axis, std::int64_t n) {
    const std::int64_t begin = begin_[axis];
    if (d[axis] == 0) return span{begin, n};
    return d[axis] < 0 ? span{begin, depth_} : span{begin + n - depth_, depth_};
  };
  return {along(0, size_.nx), along(1, size_.ny), along(2, size_.nz)};
}

deep_field::part deep_field::ghosts(const direction& d) const {
  const auto along = [&](std::size_t axis, std::int64_t n) {
    const std::int64_t begin = begin_[axis];
    if (d[axis] == 0) return span{begin, n};
    return d[axis] < 0 ? span{0, depth_} : span{begin + n, depth_};
  };
  return {along(0, size_.nx), along(1, size_.ny), along(2, size_.nz)};
}

/// Calls `f(index of the first cell)` for each row.
template <class F>
void deep_field::each_row(const part& p, F f) const {
  for (std::int64_t z = p.z.first; z < p.z.first + p.z.count; ++z) {
    for (std::int64_t y = p.y.first; y < p.y.first + p.y.count; ++y) f(index(y, z) + p.x.first);
  }
}

void deep_field::pack(const direction& d, double* to) const {
  const part p = inner(d);
  const double* const field = fields_[parity_].data();
  each_row(p, [&](std::int64_t first) { to = std::copy_n(field + first, p.x.count, to); });
}

void deep_field::unpack(const direction& d, const double* from) {
  const part p = ghosts(d);
  double* const field = fields_[parity_].data();
  each_row(p, [&](std::int64_t first) {
    std::copy_n(from, p.x.count, field + first);
    from += p.x.count;
  });
}

void deep_field::copy_out(const aligned_array& field, double* rows) const {
  each_row(own(), [&](std::int64_t first) {
    double* const end = std::copy_n(field.data() + first, size_.nx, rows);
    rows += row_pitch(size_.nx);
    std::fill(end, rows, 0.0);
  });
}

void deep_field::set_current(const double* rows) {
  double* const field = fields_[parity_].data();
  each_row(own(), [&](std::int64_t first) {
    std::copy_n(rows, size_.nx, field + first);
    rows += row_pitch(size_.nx);
  });
}

// ------------------------------------------------------------------------------------------------ steps

block_view deep_field::view(std::size_t from) {
  block_view v;
  v.size = whole_;
  v.pitch = pitch_;
  v.in = fields_[from].data();
  v.out = fields_[from ^ 1].data();
  for (int side = 0; side < 2; ++side) {
    v.ghost_x[side] = outside_ends_.data();
    v.ghost_y[side] = outside_plane_.data();  // the same row for each plane
    v.ghost_z[side] = outside_plane_.data();
  }
  return v;
}

void deep_field::update(const update_kernel& kernel, int steps) {
  const std::array<block_view, 2> views{view(parity_), view(parity_ ^ 1)};
  face_set unread;  // what is wrong there goes in by a cell a step, and does not come to the block's own cells
  for (const face f : {face::xlo, face::xhi}) {
    if (is_open(open_, f)) unread = unread.with(f);
  }
  const auto begin = [&](face f, std::int64_t s) { return is_open(open_, f) ? depth_ - (steps - s) : 0; };
  const auto end = [&](face f, std::int64_t s, std::int64_t n) {
    return is_open(open_, f) ? n - depth_ + (steps - s) : n;
  };
  const std::int64_t rows = rows_of_tile(pitch_, steps);
  for (std::int64_t tile = 0; tile < whole_.ny; tile += rows) {
    const bool is_last = tile + rows >= whole_.ny;
    for (std::int64_t first = 0; first < whole_.nz + steps - 1; ++first) {
      for (int s = 1; s <= steps; ++s) {
        const std::int64_t z = first - (s - 1), behind = s - 1;
        if (z < begin(face::zlo, s) || z >= end(face::zhi, s, whole_.nz)) continue;
        const std::int64_t y0 = tile == 0 ? 0 : tile - behind, y1 = is_last ? whole_.ny : tile + rows - behind;
        const row_range range{z, z + 1, std::max<std::int64_t>(y0, begin(face::ylo, s)),
                              std::min(y1, end(face::yhi, s, whole_.ny))};
        kernel.update(views[static_cast<std::size_t>(behind % 2)], range, unread);
      }
    }
  }
  if (steps % 2 != 0) parity_ ^= 1;
}

}  // namespace jacobi
