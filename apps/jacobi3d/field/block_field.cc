#include "field/block_field.h"

#include <algorithm>

namespace jacobi {
namespace {

/// Doubles in each face of a block, in the order of `face`.
std::array<std::int64_t, num_faces> face_sizes(extents size) {
  const std::int64_t pitch = row_pitch(size.nx);
  const std::int64_t x = size.ny * size.nz, y = size.nz * pitch, z = size.ny * pitch;
  return {x, x, y, y, z, z};
}

/// Fills a face of rows of nx doubles, leaving the padding 0.
void fill_rows(std::span<double> rows, std::int64_t nx, std::int64_t pitch, double value) {
  for (std::size_t start = 0; start < rows.size(); start += static_cast<std::size_t>(pitch))
    std::fill_n(rows.data() + start, nx, value);
}

}  // namespace

block_field::block_field(extents size, double ghost_value) : size_(size), pitch_(row_pitch(size.nx)) {
  for (aligned_array& field : fields_) field = aligned_array(num_rows() * pitch_);
  const auto sizes = face_sizes(size);
  for (std::size_t f = 0; f < sizes.size(); ++f) ghosts_[f] = aligned_array(sizes[f]);
  for (auto& faces : packed_)
    for (std::size_t f = 0; f < faces.size(); ++f) faces[f] = aligned_array(sizes[f]);
  reset_ghosts(ghost_value);
}

std::uint64_t block_field::bytes_needed(extents size) {
  const auto sizes = face_sizes(size);
  std::int64_t doubles = 2 * size.ny * size.nz * row_pitch(size.nx);
  for (std::int64_t s : sizes) doubles += s;
  for (std::size_t f = 0; f < 4; ++f) doubles += 2 * sizes[f];
  return static_cast<std::uint64_t>(doubles) * sizeof(double);
}

std::span<const double> block_field::outgoing(face side) const {
  const std::int64_t plane = size_.ny * pitch_;
  if (side == face::zlo) return {current(), static_cast<std::size_t>(plane)};
  if (side == face::zhi) return {current() + (size_.nz - 1) * plane, static_cast<std::size_t>(plane)};
  return packed_[parity_][static_cast<int>(side)].span();
}

void block_field::pack_faces() {
  auto& faces = packed_[parity_];
  for (std::int64_t z = 0; z < size_.nz; ++z) {
    for (std::int64_t y = 0; y < size_.ny; ++y) {
      faces[0][z * size_.ny + y] = row(y, z)[0];
      faces[1][z * size_.ny + y] = row(y, z)[size_.nx - 1];
    }
    std::copy_n(row(0, z), pitch_, faces[2].data() + z * pitch_);
    std::copy_n(row(size_.ny - 1, z), pitch_, faces[3].data() + z * pitch_);
  }
}

void block_field::reset_ghosts(double value) {
  for (face side : {face::xlo, face::xhi}) std::ranges::fill(ghost(side), value);
  for (face side : {face::ylo, face::yhi, face::zlo, face::zhi}) fill_rows(ghost(side), size_.nx, pitch_, value);
}

block_view block_field::view() {
  block_view v;
  v.size = size_;
  v.pitch = pitch_;
  v.in = fields_[parity_].data();
  v.out = fields_[parity_ ^ 1].data();
  for (int hi = 0; hi < 2; ++hi) {
    v.ghost_x[hi] = ghosts_[0 + hi].data();
    v.ghost_y[hi] = ghosts_[2 + hi].data();
    v.ghost_z[hi] = ghosts_[4 + hi].data();
    v.ghost_y_stride[hi] = pitch_;
    v.pack_x[hi] = packed_[parity_ ^ 1][0 + hi].data();
    v.pack_y[hi] = packed_[parity_ ^ 1][2 + hi].data();
  }
  return v;
}

}  // namespace jacobi
