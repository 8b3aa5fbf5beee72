#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "decomposition.h"
#include "field/aligned_array.h"
#include "kernels/kernel.h"

/// The memory of one block: two fields (current and next), six ghost faces, and outgoing x and y faces.
///
/// Layout. A field has no ghosts inside: nz*ny rows of nx doubles, each row padded to `pitch` doubles (nx rounded up to
/// a multiple of 8) and aligned to 64 bytes; the padding is always +0.0. The faces are arrays of their own:
///
///   x faces  nz*ny doubles            one for each row
///   y faces  nz rows of pitch         padding 0, so that a face is one contiguous run
///   z faces  ny rows of pitch         exactly a plane of the field
///
/// Outgoing z faces are planes of the field itself and are lent without packing. Outgoing x and y faces are packed by
/// the kernel while it writes the new field. All three are double-buffered by parity: what `outgoing` returns stays
/// untouched during the next update and is overwritten by the one after it. A neighbour's halo for the update after
/// next can only arrive once that neighbour has read ours, so waiting for the incoming halos is all the protection that
/// is needed.
///
/// One thread at a time. Move-only. Moving keeps all addresses.
namespace jacobi {

class block_field {
 public:
  /// Allocates and touches the memory on the calling thread. Fields are 0; ghosts hold `ghost_value` on every face.
  /// Throws out_of_memory.
  block_field(extents size, double ghost_value);

  /// Bytes that a block of this size takes.
  static std::uint64_t bytes_needed(extents size);

  extents size() const { return size_; }
  std::int64_t pitch() const { return pitch_; }
  std::int64_t num_rows() const { return size_.ny * size_.nz; }

  /// The current field, row-major: cell (x,y,z) is `current()[(z*ny + y)*pitch + x]`.
  double* current() { return fields_[parity_].data(); }
  const double* current() const { return fields_[parity_].data(); }
  /// The field before the last update (until the next update writes into it).
  const double* previous() const { return fields_[parity_ ^ 1].data(); }
  double* row(std::int64_t y, std::int64_t z) { return current() + (z * size_.ny + y) * pitch_; }
  const double* row(std::int64_t y, std::int64_t z) const { return current() + (z * size_.ny + y) * pitch_; }

  /// The values that a neighbour on that side needs of the current field; contiguous. Outgoing and incoming faces of
  /// two blocks that touch have the same length and layout.
  std::span<const double> outgoing(face side) const;
  /// Where the neighbour's values go.
  std::span<double> ghost(face side) { return ghosts_[static_cast<int>(side)].span(); }
  std::span<const double> ghost(face side) const { return ghosts_[static_cast<int>(side)].span(); }

  /// Packs the outgoing x and y faces of the current field. Needed once, after the initial state has been written;
  /// later the kernel does it on the way.
  void pack_faces();

  /// Fills all ghosts with one value again.
  void reset_ghosts(double value);

  /// The current field in a checkpoint. What is read back is as after the update before, ghosts but for those.
  template <class Archive>
  void serialize_current(Archive& ar) {
    ar.bytes(current(), static_cast<std::size_t>(num_rows() * pitch_) * sizeof(double));
    if constexpr (Archive::is_loading) pack_faces();
  }

  /// What the kernel reads and writes for the next update: from current to next, packing the next outgoing faces.
  block_view view();

  /// Makes the next field the current one. Call once after each update.
  void advance() { parity_ ^= 1; }

 private:
  extents size_;
  std::int64_t pitch_;
  int parity_ = 0;
  std::array<aligned_array, 2> fields_;
  std::array<aligned_array, num_faces> ghosts_;
  std::array<std::array<aligned_array, 4>, 2> packed_;  ///< [parity][xlo, xhi, ylo, yhi]
};

}  // namespace jacobi
