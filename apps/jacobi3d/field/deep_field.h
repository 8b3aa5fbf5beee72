#pragma once

#include <array>
#include <cstdint>

#include "decomposition.h"
#include "field/aligned_array.h"
#include "kernels/kernel.h"

/// The memory of a block that does several iterations between two exchanges (temporal blocking): two fields with the
/// neighbours' cells around, `depth` deep, those beyond edges and corners, too. Where the domain ends nothing is added.
///
/// Each step needs what was computed in the step before one cell further out: of `steps` steps after an exchange the
/// first computes `steps` - 1 cells of the ghosts, too, the last none. Those are computed twice, here and by the
/// neighbour. All steps go over the field once, plane by plane, each a plane behind the one before, so that a plane is
/// in the cache from its first step to its last; and over as many rows at once as fit there, each step a row behind.
/// The two fields are enough: where a step writes, the one before it has been read.
///
/// One thread at a time. Move-only. Moving keeps all addresses.
namespace jacobi {

/// Which sides of a block have a neighbour, by face.
using open_sides = std::array<bool, num_faces>;
/// Where a neighbour is: -1, 0 or 1 along x, y, z.
using direction = std::array<int, 3>;

class deep_field {
 public:
  /// Allocates and touches the memory on the calling thread; all cells are 0. A side that is not open has cells of the
  /// value `outside` beyond it. Precondition: where a side is open the block has at least `depth` cells in its
  /// direction. Throws out_of_memory.
  deep_field(extents size, int depth, const open_sides& open, double outside);

  /// Bytes that a block of this size takes at most.
  static std::uint64_t bytes_needed(extents size, int depth);

  extents size() const { return size_; }
  int depth() const { return depth_; }

  /// What the neighbour in direction `d` needs of the current field, and where what comes from there goes: boxes of
  /// `depth` cells along the axes of `d`, and as wide as the block along the others; x fastest, dense.
  void pack(const direction& d, double* to) const;
  void unpack(const direction& d, const double* from);

  /// Updates the block `steps` times, at most `depth`. Since the ghosts came in, nothing may have been updated.
  void update(const update_kernel& kernel, int steps);

  /// The block's own cells, without ghosts, in rows of `row_pitch(nx)` padded with 0; of the current field, or, after
  /// an update, of the step before it.
  void copy_current(double* rows) const { copy_out(fields_[parity_], rows); }
  void copy_previous(double* rows) const { copy_out(fields_[parity_ ^ 1], rows); }
  /// Into the current field.
  void set_current(const double* rows);

 private:
  struct span {
    std::int64_t first, count;
  };
  struct part {
    span x, y, z;
  };
  part own() const { return {{begin_[0], size_.nx}, {begin_[1], size_.ny}, {begin_[2], size_.nz}}; }
  part inner(const direction& d) const;
  part ghosts(const direction& d) const;
  template <class F>
  void each_row(const part& p, F f) const;
  void copy_out(const aligned_array& field, double* rows) const;
  block_view view(std::size_t from);
  std::int64_t index(std::int64_t y, std::int64_t z) const { return (z * whole_.ny + y) * pitch_; }

  extents size_;
  int depth_;
  open_sides open_;
  std::array<std::int64_t, 3> begin_;  ///< where the own cells begin
  extents whole_;                      ///< with the ghosts
  std::int64_t pitch_;
  std::size_t parity_ = 0;
  std::array<aligned_array, 2> fields_;
  aligned_array outside_plane_;  ///< beyond y and z
  aligned_array outside_ends_;   ///< beyond x: a value for each row
};

}  // namespace jacobi
